#include "simulator/predict/rate_sensitivity.hpp"

#include <cmath>
#include <utility>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

SimulatedStep simulated_step(const Job& job, const Machine& machine, const RateFactors& factors) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 50;
  CostTable table;
  table.machine_name = machine.name;
  table.is_accelerator = true;
  table.rates = DeviceRates{machine.id, factors, {}};
  PredictionOptions options;
  options.costs = &table;
  options.machine = &machine;
  options.device_memory = kNoLimit;  // the run is known to have fitted
  Prediction prediction = predict(job, options);
  return {std::log(static_cast<double>(prediction.step_time.count())),
          std::move(prediction.exercise)};
}

RateSensitivity rate_sensitivity(const Job& job, const Machine& machine,
                                 const RateFactors& factors) {
  constexpr double kDifference = 0.05;
  RateSensitivity result{simulated_step(job, machine, factors), {}};
  if (!std::isfinite(result.log_ns)) return result;
  for (std::size_t i = 0; i < kRates; ++i) {
    RateFactors moved = factors;
    moved.logarithm[i] += kDifference;
    const double moved_ns = simulated_step(job, machine, moved).log_ns;
    result.gradient[i] = (moved_ns - result.log_ns) / kDifference;
  }
  return result;
}

}  // namespace foreshard::simulator
