#include "simulator/fit/observed_runs.hpp"

#include <cmath>
#include <numeric>

#include "models/base/figures.hpp"
#include "models/hardware/kernel_rates.hpp"
#include "simulator/predict/rate_sensitivity.hpp"

namespace foreshard::simulator {
namespace {

constexpr int kRounds = 3;

}  // namespace

Result<DeviceRates> fit_observed(const std::vector<ObservedRun>& runs, const Machine& machine,
                                 const std::string& machine_id) {
  DeviceRates rates;
  rates.machine = machine_id;
  const RateFactors prior = prior_factors(kernel_rates(machine.generation));
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
      const double linear =
          std::inner_product(now.gradient.begin(), now.gradient.end(), at.begin(), 0.0);
      const double measured = std::log(static_cast<double>(run.step_time.count()));
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
  }
  return rates;
}

std::string observed_report(const DeviceRates& rates) {
  std::string text = "observed on " + rates.machine + ":\n";
  text += formatted("  %-48s %5s %12s %12s %12s\n", "plan", "ranks", "measured s", "catalogue",
                    "fitted");
  for (const ObservedStep& step : rates.observed) {
    const auto measured = static_cast<double>(step.measured_ns);
    text += formatted("  %-48s %5d %12.4f %+10.1f %% %+10.1f %%\n", step.plan.c_str(), step.ranks,
                      measured / 1e9, 100 * (static_cast<double>(step.catalogue_ns) / measured - 1),
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
