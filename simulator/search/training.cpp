#include "simulator/search/training.hpp"

#include "simulator/predict/checkpoint.hpp"

namespace foreshard::simulator {

std::optional<Reliability> reliability(const Job& job, const Machine* machine,
                                       const TrainingGoal& goal) {
  const ShardedCheckpointCost saved = checkpoint_cost(job, machine, goal.storage_bandwidth).sharded;
  if (!saved.write_ns || !saved.read_ns) return {};
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) / 1e9; };
  return Reliability{seconds(*saved.write_ns), goal.restart_s + seconds(*saved.read_ns),
                     goal.gpu_mtbf_s / job.ranks};
}

TrainingCost training_cost(const TrainingGoal& goal, double tokens_per_s, double usd_per_hour) {
  TrainingCost cost{goal.tokens / tokens_per_s, {}};
  if (usd_per_hour > 0) cost.usd = usd_per_hour * cost.seconds / 3600;
  return cost;
}

Limit broken_limit(const TrainingGoal& goal, const TrainingCost& cost) {
  if (goal.budget_usd && (!cost.usd || *cost.usd > *goal.budget_usd)) return Limit::budget;
  if (goal.deadline_s && cost.seconds > *goal.deadline_s) return Limit::deadline;
  return Limit::none;
}

}  // namespace foreshard::simulator
