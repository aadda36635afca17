#include "simulator/network/torus.hpp"

#include <algorithm>
#include <bit>

#include "models/base/units.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::string_view kFlat = "ICI 2D", kCubic = "ICI 3D";
constexpr std::int64_t kClosedAxis = 16;  // of two dimensions
constexpr std::int64_t kCubeSide = 4;

// The divisors nearest to equal: ascending, with the smallest sum of all `factors` whose product is
// n.
std::vector<std::int64_t> nearest_factors(std::int64_t n, int factors) {
  if (factors == 1) return {n};
  std::vector<std::int64_t> best;
  std::int64_t least = 0;
  for (std::int64_t side = 1; side * side <= n || side == 1; ++side) {
    if (n % side != 0) continue;
    std::vector<std::int64_t> found = nearest_factors(n / side, factors - 1);
    found.push_back(side);
    std::int64_t sum = 0;
    for (const std::int64_t factor : found) sum += factor;
    if (!best.empty() && sum >= least) continue;
    best = std::move(found);
    least = sum;
  }
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace

std::optional<Torus> Torus::of(const Machine& machine) {
  const bool is_cubic = machine.link.starts_with(kCubic);
  if (!is_cubic && !machine.link.starts_with(kFlat)) return std::nullopt;
  const int dimensions = is_cubic ? 3 : 2;
  return Torus(dimensions, machine.link_bandwidth / 1e9 / (2 * dimensions));
}

std::vector<std::int64_t> Torus::axes(std::int64_t chips) const {
  constexpr std::int64_t kCube = kCubeSide * kCubeSide * kCubeSide;
  if (dimensions_ == 3 && chips > kCube / 2) {
    std::vector<std::int64_t> axes = nearest_factors(ceil_divide(chips, kCube), 3);
    for (std::int64_t& axis : axes) axis *= kCubeSide;
    return axes;
  }
  const auto rented = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(chips)));
  return nearest_factors(rented, dimensions_);
}

bool Torus::is_ring(std::int64_t axis, const std::vector<std::int64_t>& all) const {
  if (dimensions_ == 2) return axis == kClosedAxis;
  return std::all_of(all.begin(), all.end(), [](std::int64_t a) { return a % kCubeSide == 0; });
}

std::int64_t Torus::corner_links(std::int64_t chips) const {
  const auto all = axes(chips);
  std::int64_t links = 0;
  for (const std::int64_t axis : all) links += axis == 1 ? 0 : is_ring(axis, all) ? 2 : 1;
  return links;
}

std::int64_t Torus::hops(std::int64_t chips) const {
  const auto all = axes(chips);
  std::int64_t hops = 0;
  for (const std::int64_t axis : all) hops += is_ring(axis, all) ? axis / 2 : axis - 1;
  return hops;
}

}  // namespace foreshard::simulator
