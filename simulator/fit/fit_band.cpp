#include "simulator/fit/fit_band.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/costs/joined_errors.hpp"

namespace foreshard::simulator {
namespace {

// What is known before any recording was held out, worth three errors. Processors: what the plans of
// docs/accuracy.md's table deviate by, and a little more. Accelerators: as much as a data sheet's answer,
// since whole steps on them have not been compared.
constexpr int kPriorErrors = 3;
constexpr double kPriorOfProcessors = 0.05, kPriorOfAccelerators = 0.15;

// 95 % of Student's distribution lie below; the expansion in 1/degrees is good to 2 % from 3 on.
double student_95(int degrees) {
  constexpr double z = 1.6449;
  const double n = degrees;
  return z + (z * z * z + z) / (4 * n) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

double square(double x) {
  return x * x;
}

Band band_without(const CostTable& table, const Calibration* left_out) {
  const double prior = table.is_accelerator ? kPriorOfAccelerators : kPriorOfProcessors;
  Band band;
  double squares = kPriorErrors * square(prior);
  // What the costs' own uncertainty explains of an error is added to every prediction anyway.
  constexpr double kSure = 0.05;
  for (const Calibration& run : table.calibration) {
    if (&run == left_out || run.held_out_ns <= 0 || run.held_out_uncertainty > kSure) continue;
    squares += std::max(0.0, square(held_out_error(run)) - square(run.held_out_uncertainty));
    ++band.errors;
  }
  int degrees = kPriorErrors + band.errors;
  // Errors that remain in a table fitted to the run itself are no uncertainty. Such errors are known to be
  // too small, so they may widen the band, never narrow it.
  for (const Calibration& run : table.calibration) {
    if (&run == left_out || run.fitted_ns <= 0 || run.held_out_uncertainty <= kSure) continue;
    const double missed = square(std::log(static_cast<double>(run.measured_ns) / run.slowness /
                                          static_cast<double>(run.fitted_ns)));
    if (missed <= squares / degrees) continue;
    squares += missed;
    ++degrees;
  }
  const double variance = squares / degrees;
  band.half_width = student_95(degrees) * std::sqrt(variance + square(table.slowness_spread));

  // Uncertain predictions show whether their own bands are wide enough.
  double excess = kPriorErrors;  // taken to be right, until as many show otherwise
  int unsure = kPriorErrors;
  for (const Calibration& run : table.calibration) {
    if (&run == left_out || run.held_out_ns <= 0 || run.held_out_uncertainty <= kSure) continue;
    excess +=
        std::max(0.0, square(held_out_error(run)) - variance) / square(run.held_out_uncertainty);
    ++unsure;
    ++band.errors;
  }
  band.uncertainty_scale = std::max(1.0, std::sqrt(excess / unsure));
  return band;
}

}  // namespace

Band band_of(const CostTable& table) {
  return band_without(table, nullptr);
}

BandCheck check_band(const CostTable& table) {
  BandCheck check;
  for (const Calibration& run : table.calibration) {
    if (run.held_out_ns <= 0) continue;
    const Band band = band_without(table, &run);
    if (band.errors == 0) continue;
    const double own = student_95(1000) * band.uncertainty_scale * run.held_out_uncertainty;
    const double half_width = std::hypot(band.half_width, own);
    ++check.tried;
    const double error =
        std::log(static_cast<double>(run.measured_ns) / static_cast<double>(run.held_out_ns));
    check.inside += std::abs(error) <= half_width ? 1 : 0;
  }
  return check;
}

}  // namespace foreshard::simulator
