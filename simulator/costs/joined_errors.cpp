#include "simulator/costs/joined_errors.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/figures.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kLeastHalfWidth = 0.1;

}  // namespace

double held_out_error(const Calibration& run) {
  return std::log(static_cast<double>(run.measured_ns) / run.slowness /
                  static_cast<double>(run.held_out_ns));
}

ErrorSpread joined_errors(ErrorSpread of_catalogue, const CostTable& table) {
  const auto& published = held_out_errors(CostWay::catalogue);
  const auto runs = static_cast<double>(std::count_if(
      published.begin(), published.end(), [](const auto& run) { return run.has_known_settings; }));
  double squares = runs * of_catalogue.deviation * of_catalogue.deviation;
  std::int64_t held_out = 0;
  for (const Calibration& run : table.calibration) {
    if (run.held_out_ns <= 0) continue;
    ++held_out;
    squares +=
        std::max(0.0, std::pow(held_out_error(run), 2) - std::pow(run.held_out_uncertainty, 2));
  }
  const double joined = squares / (runs + static_cast<double>(held_out));
  of_catalogue.deviation = std::hypot(std::sqrt(joined), table.slowness_spread);
  if (held_out == 0) {
    of_catalogue.least_half_width = kLeastHalfWidth;
  } else {
    of_catalogue.basis += "; of " + plural(held_out, "recording") + " left out of the fit";
  }
  return of_catalogue;
}

}  // namespace foreshard::simulator
