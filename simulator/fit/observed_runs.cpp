#include "simulator/fit/observed_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/base/figures.hpp"
#include "models/hardware/kernel_rates.hpp"
#include "simulator/predict/rate_sensitivity.hpp"

namespace foreshard::simulator {
namespace {

constexpr int kRounds = 3;
constexpr double kMostUnexplained = 4;  // factor between an observed step and the fitted one
constexpr double kMostUnlike = 100;     // and the catalogue's: no rates are sought for it

// What the steps differ by from the fitted ones, beyond what runs usually do.
double unexplained(const std::vector<ObservedStep>& steps) {
  if (steps.empty()) return 0;
  double squares = 0;
  for (const ObservedStep& step : steps) squares += std::pow(std::log(step.over_fitted()), 2);
  const double usual = kObservedDeviation * kObservedDeviation;
  return std::sqrt(std::max(0.0, squares / static_cast<double>(steps.size()) - usual));
}

}  // namespace

Result<DeviceRates> fit_observed(const std::vector<ObservedRun>& runs, const Machine& machine,
                                 const std::string& machine_id) {
  DeviceRates rates;
  rates.machine = machine_id;
  const RateFactors prior = prior_factors(kernel_rates(machine));
  rates.factors = prior;
  for (int round = 0; round < kRounds; ++round) {
    const RateVector at = rates.factors.logarithm;
    RateFactors next = prior;
    for (const ObservedRun& run : runs) {
      RateFactors here = prior;
      here.logarithm = at;
      const RateSensitivity now = rate_sensitivity(run.job, machine, here);
      if (!std::isfinite(now.log_ns)) {
        return fail(run.plan, "",
                    "has no predicted step time; expected a plan that can be predicted");
      }
      const double measured = std::log(static_cast<double>(run.step_time.count()));
      if (round == 0 && std::abs(measured - now.log_ns) > std::log(kMostUnlike)) {
        const std::int64_t expected_ns = std::llround(std::exp(now.log_ns));
        return fail(run.plan, "--observed",
                    contradiction({run.plan, run.job.model.name, run.job.ranks,
                                   run.step_time.count(), expected_ns, expected_ns},
                                  machine_id));
      }
      const double linear =
          std::inner_product(now.gradient.begin(), now.gradient.end(), at.begin(), 0.0);
      next.observe(now.gradient, measured - now.log_ns + linear, kObservedDeviation);
    }
    rates.factors = next;
  }
  for (const ObservedRun& run : runs) {
    const auto ns = [&](const RateFactors& factors) {
      return std::llround(std::exp(log_step_time(run.job, machine, factors)));
    };
    rates.observed.push_back({run.plan, run.job.model.name, run.job.ranks, run.step_time.count(),
                              ns(prior), ns(rates.factors)});
    const double factor = rates.observed.back().over_fitted();
    if (factor > kMostUnexplained || factor < 1 / kMostUnexplained) {
      return fail(run.plan, "--observed", contradiction(rates.observed.back(), machine_id));
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
