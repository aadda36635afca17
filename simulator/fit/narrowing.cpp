#include "simulator/fit/narrowing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/hardware/kernel_rates.hpp"
#include "simulator/fit/fit_band.hpp"
#include "simulator/fit/observed_runs.hpp"
#include "simulator/fit/taught_factors.hpp"
#include "simulator/predict/exercised.hpp"
#include "simulator/predict/rate_sensitivity.hpp"

namespace foreshard::simulator {
namespace {

// The run itself, of which somebody reads the throughput; nothing where that is known already.
std::optional<Narrowing> by_observed_run(const Job& job, const Machine& machine,
                                         const CostTable* costs, const Prediction& prediction) {
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
  factors = taught_factors(catalogue, observations_of(observed));
  StepDoubt after = prediction.doubt;
  after.left_out = held_out_spread(CostWay::observed);
  after.unexercised = 0;
  return Narrowing{costs != nullptr
                       ? "the throughput of this run beside those that were observed "
                         "(foreshard fit --observed)"
                       : "the throughput of one run of this plan on this machine (foreshard fit "
                         "--observed)",
                   half_width(after, &factors)};
}

// A recording of the plan: all of its costs are measured then. `factors`: of the limits that it rests on
// all the same, or nullptr.
Narrowing by_recording(const StepDoubt& doubt, const RateFactors* factors) {
  StepDoubt after = doubt;
  after.operators = {};
  return {"a recording of this plan on this machine (foreshard fit)", half_width(after, factors)};
}

// Of the machine at hand, of which nothing is known.
Narrowing by_calibration() {
  return {"costs of this machine (foreshard calibrate)", band_of(CostTable()).half_width};
}

}  // namespace

std::optional<Narrowing> find_narrowing(const Job& job, const PredictionOptions& options,
                                        const Prediction& prediction) {
  const StepDoubt& doubt = prediction.doubt;
  const double present = std::log(static_cast<double>(prediction.step_time_high.count()) /
                                  static_cast<double>(prediction.step_time.count()));
  const bool rests_on_rates =
      std::any_of(doubt.rates.begin(), doubt.rates.end(), [](double share) { return share > 0; });
  std::optional<Narrowing> best;
  if (rests_on_rates) {
    const Machine* machine = options.machine;
    if (machine == nullptr && job.machine) machine = &*job.machine;
    if (machine == nullptr) return {};
    if (options.costs != nullptr && !options.costs->regimes.empty()) {
      const RateFactors factors = prior_factors(kernel_rates(*machine));
      best = by_recording(doubt, &factors);
    } else {
      best = by_observed_run(job, *machine, options.costs, prediction);
    }
  } else {
    best = options.costs != nullptr ? by_recording(doubt, nullptr) : by_calibration();
  }
  constexpr double kWorthwhile = 0.001;
  if (!best || best->half_width > present - kWorthwhile) return {};
  return best;
}

}  // namespace foreshard::simulator
