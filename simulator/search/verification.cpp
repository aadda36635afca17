#include "simulator/search/verification.hpp"

#include <algorithm>

#include "models/base/figures.hpp"
#include "simulator/predict/prediction.hpp"
#include "simulator/search/search_report.hpp"

namespace foreshard::simulator {
namespace {

Result<Prediction> predicted_alone(const SearchRequest& request, const FoundPlan& found,
                                   const Plan& plan, const std::string& name) {
  const auto job = make_job(question_on(request, found.target, plan), name);
  if (!job) return tl::unexpected(job.error());
  PredictionOptions options;
  options.costs = request.costs;
  options.machine = found.target.machine;
  options.device_memory = request.device_memory;
  return predict(*job, options);
}

Result<void> verify_plan(const SearchRequest& request, const FoundPlan& found) {
  const std::string name = "plan found for " + target_name(found.target);
  const auto plan = parse_plan(to_toml(found.plan), name);
  if (!plan) return tl::unexpected(plan.error());
  const auto again = predicted_alone(request, found, *plan, name);
  if (!again) return tl::unexpected(again.error());
  const Prediction& prediction = *again;
  std::int64_t reserved = 0;
  for (const RankPeaks& rank : prediction.ranks_memory) {
    reserved = std::max(reserved, rank.peaks.reserved);
  }
  if (prediction.step_time == found.step_time && reserved == found.peak_reserved) return {};
  return fail(name, "--verify",
              "predicts " + duration(prediction.step_time.count()) + " and " +
                  binary_bytes(reserved) + ", but the search found " +
                  duration(found.step_time.count()) + " and " + binary_bytes(found.peak_reserved) +
                  "; expected the same");
}

}  // namespace

void add_bands(const SearchRequest& request, SearchAnswer& answer) {
  for (auto* plans : {&answer.top, &answer.pareto, &answer.pareto_cost}) {
    for (FoundPlan& found : *plans) {
      const auto prediction = predicted_alone(request, found, found.plan, request.base_file);
      if (!prediction) continue;
      found.step_time_low = prediction->step_time_low;
      found.step_time_high = prediction->step_time_high;
    }
  }
}

Result<void> verify(const SearchRequest& request, const SearchAnswer& answer) {
  for (const auto* plans : {&answer.top, &answer.pareto, &answer.pareto_cost}) {
    for (const FoundPlan& plan : *plans) {
      if (auto ok = verify_plan(request, plan); !ok) return ok;
    }
  }
  return {};
}

}  // namespace foreshard::simulator
