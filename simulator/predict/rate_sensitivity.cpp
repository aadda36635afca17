#include "simulator/predict/rate_sensitivity.hpp"

#include <cmath>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {
namespace {

Prediction predicted(const Job& job, const Machine& machine, const RateFactors& factors) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 50;
  CostTable table;
  table.machine_name = machine.name;
  table.is_accelerator = true;
  table.rates = DeviceRates{machine.id, factors, {}};
  PredictionOptions options;
  options.costs = &table;
  options.machine = &machine;
  options.device_memory = kNoLimit;  // the run is known to have fitted
  return predict(job, options);
}

double log_ns(const Prediction& prediction) {
  return std::log(static_cast<double>(prediction.step_time.count()));
}

}  // namespace

double log_step_time(const Job& job, const Machine& machine, const RateFactors& factors) {
  return log_ns(predicted(job, machine, factors));
}

RateSensitivity rate_sensitivity(const Job& job, const Machine& machine,
                                 const RateFactors& factors) {
  constexpr double kDifference = 0.05;
  RateSensitivity result;
  const Prediction here = predicted(job, machine, factors);
  result.log_ns = log_ns(here);
  result.exercise = here.exercise;
  if (!std::isfinite(result.log_ns)) return result;
  for (std::size_t i = 0; i < kRates; ++i) {
    RateFactors moved = factors;
    moved.logarithm[i] += kDifference;
    result.gradient[i] = (log_step_time(job, machine, moved) - result.log_ns) / kDifference;
  }
  return result;
}

}  // namespace foreshard::simulator
