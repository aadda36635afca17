#include "traces/steady_steps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/base/statistics.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int32_t kFirstSteadyStep = 3;

// Steps that were cut short by running out of memory, or retried part of their work.
std::set<std::int32_t> steps_out_of_memory(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const MemoryEvent& event : trace.memory) {
    if (event.action == MemoryAction::out_of_memory) steps.insert(event.step);
  }
  return steps;
}

}  // namespace

std::vector<std::int32_t> steady_steps(const Trace& trace) {
  std::vector<std::int32_t> steps;
  const std::set<std::int32_t> interrupted = steps_out_of_memory(trace);
  for (const Step& step : trace.steps) {
    if (step.step > 0 && !interrupted.contains(step.step)) steps.push_back(step.step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  if (!steps.empty()) {
    const auto third = std::lower_bound(steps.begin(), steps.end(), kFirstSteadyStep);
    steps.erase(steps.begin(), std::min(third, steps.end() - 1));
  }
  return steps;
}

std::int64_t steady_step_time(const Trace& trace) {
  return steady_step_time(trace, trace.steps);
}

std::int64_t steady_step_time(const Trace& trace, std::span<const Step> steps) {
  if (integer(trace.metadata, "unknown_costs", 0) > 0) return 0;
  std::map<std::int32_t, std::int64_t> longest;
  for (const Step& step : steps) {
    auto& duration = longest[step.step];
    duration = std::max(duration, step.end_ns - step.start_ns);
  }
  std::vector<std::int64_t> durations;
  for (const std::int32_t step : steady_steps(trace)) durations.push_back(longest[step]);
  return median(std::move(durations));
}

}  // namespace foreshard::traces
