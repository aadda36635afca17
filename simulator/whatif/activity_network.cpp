#include "simulator/whatif/activity_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "traces/input/bounded_sum.hpp"

namespace foreshard::simulator {

using traces::bounded_sum;

std::int64_t scaled(std::int64_t ns, double factor) {
  if (factor == 1) return ns;
  return std::llround(
      std::min(static_cast<double>(ns) * factor, static_cast<double>(traces::kMaxSum)));
}

Moment ActivityNetwork::add(std::span<const Arrow> arrows) {
  arrows_.insert(arrows_.end(), arrows.begin(), arrows.end());
  first_arrow_.push_back(arrows_.size());
  return static_cast<Moment>(size() - 1);
}

std::span<const Arrow> ActivityNetwork::arrows_to(Moment moment) const {
  const std::size_t first = first_arrow_[moment];
  return std::span(arrows_).subspan(first, first_arrow_[moment + 1] - first);
}

std::vector<std::int64_t> ActivityNetwork::times(std::span<const double> factors) const {
  std::vector<std::int64_t> times(size());
  for (Moment m = 0; m < size(); ++m) {
    for (const Arrow& arrow : arrows_to(m)) {
      const std::int64_t after = scaled(arrow.ns, factors[arrow.activity]);
      times[m] = std::max(times[m], bounded_sum(times[arrow.from], after));
    }
  }
  return times;
}

std::vector<std::int64_t> ActivityNetwork::slack(std::span<const double> factors,
                                                 std::span<const std::int64_t> times,
                                                 std::int64_t end) const {
  std::vector<std::int64_t> slack(size());
  for (Moment m = 0; m < size(); ++m) slack[m] = end - times[m];
  for (Moment m = static_cast<Moment>(size()); m-- > 0;) {
    for (const Arrow& arrow : arrows_to(m)) {
      const std::int64_t after = scaled(arrow.ns, factors[arrow.activity]);
      const std::int64_t margin = times[m] - bounded_sum(times[arrow.from], after);
      slack[arrow.from] = std::min(slack[arrow.from], bounded_sum(slack[m], margin));
    }
  }
  return slack;
}

std::vector<Arrow> ActivityNetwork::critical_path(std::span<const double> factors,
                                                  std::span<const std::int64_t> times,
                                                  Moment last) const {
  std::vector<Arrow> path;
  for (Moment at = last; at != kOrigin;) {
    std::int64_t latest = -1;
    Arrow cause;
    for (const Arrow& arrow : arrows_to(at)) {
      const std::int64_t ns = scaled(arrow.ns, factors[arrow.activity]);
      const std::int64_t lets = bounded_sum(times[arrow.from], ns);
      if (lets <= latest) continue;
      latest = lets;
      cause = {arrow.from, arrow.activity, ns};
    }
    if (latest < 0) break;
    path.push_back(cause);
    at = cause.from;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace foreshard::simulator
