#include "simulator/search/verification.hpp"

#include <algorithm>

#include "models/base/figures.hpp"
#include "simulator/predict/prediction.hpp"
#include "simulator/search/search_report.hpp"

namespace foreshard::simulator {
namespace {

Prediction predicted_alone(const SearchRequest& request, const FoundPlan& found, const Job& job,
                           bool wants_memory = true) {
  PredictionOptions options;
  options.costs = request.costs;
  options.machine = found.target.machine;
  options.device_memory = request.device_memory;
  options.wants_memory = wants_memory;
  return predict(job, options);
}

Result<void> verify_plan(const SearchRequest& request, const FoundPlan& found) {
  const std::string name = "plan found for " + target_name(found.target);
  const auto plan = parse_plan(to_toml(found.plan), name);
  if (!plan) return tl::unexpected(plan.error());
  const auto job = make_job(question_on(request, found.target, *plan), name);
  if (!job) return tl::unexpected(job.error());
  const Prediction prediction = predicted_alone(request, found, *job);
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

void add_band(const SearchRequest& request, FoundPlan& found) {
  const auto job = make_job(question_on(request, found.target, found.plan), request.base_file);
  if (!job) return;
  Prediction prediction = predicted_alone(request, found, *job, false);
  if (prediction.step_time != found.step_time) {  // the allocator keeps it waiting
    prediction = predicted_alone(request, found, *job);
  }
  found.step_time_low = prediction.step_time_low;
  found.step_time_high = prediction.step_time_high;
  if (request.training) {
    found.reliability = reliability(*job, found.target.machine, *request.training);
  }
}

void add_bands(const SearchRequest& request, SearchAnswer& answer) {
  for (auto* plans : {&answer.top, &answer.pareto, &answer.pareto_cost}) {
    for (FoundPlan& found : *plans) add_band(request, found);
  }
}

Result<void> verify(const SearchRequest& request, const SearchAnswer& answer) {
  for (const auto* plans : {&answer.top, &answer.pareto, &answer.pareto_cost}) {
    for (const FoundPlan& plan : *plans) {
      if (auto ok = verify_plan(request, plan); !ok) return ok;
    }
  }
  return answer.best_sure ? verify_plan(request, *answer.best_sure) : Result<void>();
}

}  // namespace foreshard::simulator
