#include "simulator/search/goodput.hpp"

#include <cmath>

namespace foreshard::simulator {

double checkpoint_interval(const Reliability& run) {
  const double half = run.save / (2 * run.between_failures);
  if (half >= 1) return run.between_failures;
  return std::sqrt(2 * run.save * run.between_failures) * (1 + std::sqrt(half) / 3 + half / 9) -
         run.save;
}

double goodput(const Reliability& run) {
  const double mean = run.between_failures, interval = checkpoint_interval(run);
  return interval /
         (mean * std::exp(run.restart / mean) * std::expm1((interval + run.save) / mean));
}

}  // namespace foreshard::simulator
