#include "simulator/fit/recommended_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/hardware/kernel_rates.hpp"
#include "simulator/fit/fit_band.hpp"
#include "simulator/fit/fitted_factors.hpp"
#include "simulator/fit/observed_runs.hpp"
#include "simulator/predict/exercised.hpp"
#include "simulator/predict/rate_sensitivity.hpp"

namespace foreshard::simulator {
namespace {

// The run itself, of which somebody reads the throughput; nothing where that is known already.
std::optional<RecommendedMeasurement> by_observed_run(const Job& job, const Machine& machine,
                                                      const CostTable* costs,
                                                      const Prediction& prediction) {
  const KernelRates& catalogue = kernel_rates(machine);
  RateFactors factors = prior_factors(catalogue);
  std::vector<ObservedStep> observed;
  if (costs != nullptr) {
    factors = costs->rates->factors;
    observed = costs->rates->observed;
    // As they are in the prediction.
    const double common = exercised_share(prediction.exercise, observed);
    for (double& logarithm : factors.logarithm) logarithm *= common;
  }
  const std::string question = identity_of(job);
  for (const ObservedStep& step : observed) {
    if (step.question.empty() || step.question == question) return {};
  }
  ObservedStep& unsurprising = observed.emplace_back();
  unsurprising.question = question;
  unsurprising.gradient = rate_sensitivity(job, machine, factors).gradient;
  unsurprising.log_ratio = std::inner_product(
      unsurprising.gradient.begin(), unsurprising.gradient.end(), factors.logarithm.begin(), 0.0);
  factors = fitted_factors(catalogue, observations_of(observed));
  StepUncertainty after = prediction.uncertainty;
  after.left_out = held_out_spread(CostWay::observed);
  after.unexercised = 0;
  return RecommendedMeasurement{
      costs != nullptr ? "the throughput of this run, added to those observed "
                         "(foreshard fit --observed)"
                       : "the throughput of one run of this plan on this machine (foreshard fit "
                         "--observed)",
      half_width(after, &factors)};
}

// A recording of the plan: all of its costs are measured then. `factors`: of the limits that it rests on
// all the same, or nullptr.
RecommendedMeasurement by_recording(const StepUncertainty& uncertainty,
                                    const RateFactors* factors) {
  StepUncertainty after = uncertainty;
  after.operators = {};
  return {"a recording of this plan on this machine (foreshard fit)", half_width(after, factors)};
}

// Of the machine at hand, of which nothing is known.
RecommendedMeasurement by_calibration() {
  return {"costs of this machine (foreshard calibrate)", band_of(CostTable()).half_width};
}

}  // namespace

std::optional<RecommendedMeasurement> recommend_measurement(const Job& job,
                                                            const PredictionOptions& options,
                                                            const Prediction& prediction) {
  const StepUncertainty& uncertainty = prediction.uncertainty;
  const double present = std::log(static_cast<double>(prediction.step_time_high.count()) /
                                  static_cast<double>(prediction.step_time.count()));
  const bool rests_on_rates = std::any_of(uncertainty.rates.begin(), uncertainty.rates.end(),
                                          [](double share) { return share > 0; });
  std::optional<RecommendedMeasurement> best;
  if (rests_on_rates) {
    const Machine* machine = options.machine;
    if (machine == nullptr && job.machine) machine = &*job.machine;
    if (machine == nullptr) return {};
    if (options.costs != nullptr && !options.costs->regimes.empty()) {
      const RateFactors factors = prior_factors(kernel_rates(*machine));
      best = by_recording(uncertainty, &factors);
    } else {
      best = by_observed_run(job, *machine, options.costs, prediction);
    }
  } else {
    best = options.costs != nullptr ? by_recording(uncertainty, nullptr) : by_calibration();
  }
  constexpr double kWorthwhile = 0.001;
  if (!best || best->half_width > present - kWorthwhile) return {};
  return best;
}

}  // namespace foreshard::simulator
