#include "simulator/fit/observed_runs.hpp"

#include <cmath>

#include "models/base/figures.hpp"
#include "models/hardware/kernel_rates.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {
namespace {

// Published figures of one configuration on one kind of machine differ by some 2 to 9 %, and the
// simulation itself is not exact.
constexpr double kSigma = 0.035;
constexpr double kDifference = 0.05;  // of a factor's logarithm, for derivatives
constexpr int kRounds = 3;

class StepTimes {
 public:
  StepTimes(const Machine& machine) : machine_(machine) {
    table_.machine_name = machine.name;
    table_.is_accelerator = true;
  }

  // Logarithm of the nanoseconds of a step, or nothing.
  double operator()(const Job& job, const RateFactors& factors) {
    table_.rates = DeviceRates{machine_.id, factors, {}};
    PredictionOptions options;
    options.costs = &table_;
    options.machine = &machine_;
    options.device_memory = kNoLimit;  // the run is known to have fitted
    const Prediction prediction = predict(job, options);
    return std::log(static_cast<double>(prediction.step_time.count()));
  }

 private:
  static constexpr std::int64_t kNoLimit = std::int64_t{1} << 50;
  const Machine& machine_;
  CostTable table_;
};

}  // namespace

Result<DeviceRates> fit_observed(const std::vector<ObservedRun>& runs, const Machine& machine,
                                 const std::string& machine_id) {
  StepTimes log_time(machine);
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
      const double now = log_time(run.job, here);
      if (!std::isfinite(now)) {
        return fail(run.plan, "",
                    "has no predicted step time; expected a plan that can be predicted");
      }
      RateVector gradient{};
      double linear = 0;
      for (std::size_t i = 0; i < kRates; ++i) {
        RateFactors moved = here;
        moved.logarithm[i] += kDifference;
        gradient[i] = (log_time(run.job, moved) - now) / kDifference;
        linear += gradient[i] * at[i];
      }
      const double measured = std::log(static_cast<double>(run.step_time.count()));
      next.observe(gradient, measured - now + linear, kSigma);
    }
    rates.factors = next;
  }
  for (const ObservedRun& run : runs) {
    const auto ns = [&](const RateFactors& factors) {
      return std::llround(std::exp(log_time(run.job, factors)));
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
