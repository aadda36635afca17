#include "simulator/fit/observed_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "models/base/figures.hpp"
#include "models/hardware/kernel_rates.hpp"
#include "models/question/question_json.hpp"
#include "simulator/fit/fitted_factors.hpp"
#include "simulator/predict/rate_sensitivity.hpp"

namespace foreshard::simulator {
namespace {

constexpr int kRounds = 4;
constexpr double kMostUnexplained = 4;  // factor between an observed step and the fitted one
constexpr double kMostUnlike = 100;     // and the catalogue's: no rates are sought for it
// What a machine's steps may be longer or shorter than the catalogue's by: a figure beyond it gets a warning.
constexpr double kMostBelieved = 3;

// What the steps differ by from the fitted ones, beyond what runs usually do.
double unexplained(const std::vector<ObservedStep>& steps) {
  if (steps.empty()) return 0;
  double squares = 0;
  for (const ObservedStep& step : steps) squares += std::pow(std::log(step.over_fitted()), 2);
  const double usual = kHandDeviation * kHandDeviation + kOwnDeviation * kOwnDeviation;
  return std::sqrt(std::max(0.0, squares / static_cast<double>(steps.size()) - usual));
}

double log_of(const ObservedRun& run) {
  return std::log(static_cast<double>(run.step_time.count()));
}

// What the step of a run says by the factors at hand.
Result<RateSensitivity> sensitivity_of(const ObservedRun& run, const Machine& machine,
                                       const RateFactors& factors) {
  RateSensitivity now = rate_sensitivity(run.job, machine, factors);
  if (std::isfinite(now.log_ns)) return now;
  return fail(run.plan, "", "has no predicted step time; expected a plan that can be predicted");
}

}  // namespace

std::string identity_of(Question question) {
  question.costs.clear();
  return question_json(question);
}

Result<DeviceRates> fit_observed(const std::vector<ObservedRun>& runs, const Machine& machine,
                                 const std::string& machine_id) {
  const KernelRates& catalogue = kernel_rates(machine);
  const RateFactors prior = prior_factors(catalogue);
  DeviceRates rates{machine_id, prior, {}};
  for (const ObservedRun& run : runs) {
    rates.observed.push_back({run.plan, run.job.model.name, run.job.ranks, run.step_time.count(), 0,
                              0, identity_of(run.job)});
  }
  for (int round = 0; round < kRounds; ++round) {
    const RateVector at = rates.factors.logarithm;
    RateFactors here = prior;
    here.logarithm = at;
    std::map<std::string, RateSensitivity> questions;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      ObservedStep& step = rates.observed[r];
      const auto [found, is_new] = questions.try_emplace(step.question);
      RateSensitivity& now = found->second;
      if (is_new) {
        auto sensitivity = sensitivity_of(runs[r], machine, here);
        if (!sensitivity) return tl::unexpected(sensitivity.error());
        now = std::move(*sensitivity);
      }
      if (round == 0) {
        step.catalogue_ns = step.fitted_ns = std::llround(std::exp(now.log_ns));
        if (std::abs(log_of(runs[r]) - now.log_ns) > std::log(kMostUnlike)) {
          return fail(step.plan, "--observed", contradiction(step, machine_id));
        }
      }
      const double by_catalogue = std::log(static_cast<double>(step.catalogue_ns));
      const double believed = std::clamp(log_of(runs[r]), by_catalogue - std::log(kMostBelieved),
                                         by_catalogue + std::log(kMostBelieved));
      step.gradient = now.gradient;
      step.log_ratio =
          believed - now.log_ns +
          std::inner_product(now.gradient.begin(), now.gradient.end(), at.begin(), 0.0);
    }
    rates.factors = fitted_factors(catalogue, observations_of(rates.observed));
  }
  for (std::size_t r = 0; r < runs.size(); ++r) {
    ObservedStep& step = rates.observed[r];
    SimulatedStep fitted = simulated_step(runs[r].job, machine, rates.factors);
    step.fitted_ns = std::llround(std::exp(fitted.log_ns));
    step.exercise = std::move(fitted.exercise);
    const double factor = step.over_fitted();
    if (factor > kMostUnexplained || factor < 1 / kMostUnexplained) {
      return fail(step.plan, "--observed", contradiction(step, machine_id));
    }
  }
  rates.factors.unexplained = unexplained(rates.observed);
  return rates;
}

std::string contradiction(const ObservedStep& step, const std::string& machine_id) {
  return formatted(
      "a step of %s of %s is %.2g times as long as %s takes by all that is known; is the figure "
      "the tokens per second of all ranks (/gpu: of one), and the plan the run's?",
      duration(step.measured_ns).c_str(), step.model.c_str(), step.over_fitted(),
      machine_id.c_str());
}

std::string observed_report(const DeviceRates& rates) {
  std::string text = "observed on " + rates.machine + ":\n";
  std::size_t longest = 4;
  for (const ObservedStep& step : rates.observed) longest = std::max(longest, step.plan.size());
  const auto width = static_cast<int>(longest);
  text += formatted("  %-*s %-16s %5s %12s %12s %12s\n", width, "plan", "model", "ranks",
                    "measured s", "catalogue", "fitted");
  for (const ObservedStep& step : rates.observed) {
    const auto measured = static_cast<double>(step.measured_ns);
    text += formatted("  %-*s %-16s %5d %12.4f %+10.1f %% %+10.1f %%\n", width, step.plan.c_str(),
                      step.model.c_str(), step.ranks, measured / 1e9,
                      100 * (static_cast<double>(step.catalogue_ns) / measured - 1),
                      100 * (static_cast<double>(step.fitted_ns) / measured - 1));
  }
  text += "  times relative to the catalogue's rates, with standard deviations:";
  for (std::size_t i = 0; i < kRates; ++i) {
    text += formatted("%s %s x %.2f (+- %.0f %%)", i == 0 ? "" : ",",
                      std::string(kRateNames[i]).c_str(), std::exp(rates.factors.logarithm[i]),
                      100 * std::sqrt(rates.factors.covariance[i][i]));
  }
  return text + "\n";
}

}  // namespace foreshard::simulator
