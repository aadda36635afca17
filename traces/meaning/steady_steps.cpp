#include "traces/meaning/steady_steps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/base/statistics.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int32_t kFirstSteadyStep = 3;
constexpr double kLag = 0.05;  // of a step

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

DeviceEnds device_ends(const Trace& trace) {
  DeviceEnds ends;
  std::int64_t* end =
      nullptr;  // of the last one met: most events are of the same step as the one before
  std::pair<std::int32_t, std::int32_t> of{-1, -1};
  for (const Event& event : trace.events) {
    if (!is_device_work(event.kind)) continue;
    const std::pair key{trace.lanes[static_cast<std::size_t>(event.lane)].rank, event.step};
    if (end == nullptr || key != of) {
      of = key;
      end = &ends.try_emplace(key, event.end_ns).first->second;
    }
    *end = std::max(*end, event.end_ns);
  }
  return ends;
}

std::vector<DeviceStep> device_steps(std::span<const Step> steps, const DeviceEnds& ends) {
  std::vector<Step> ordered(steps.begin(), steps.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const Step& a, const Step& b) {
    return std::pair(a.rank, a.start_ns) < std::pair(b.rank, b.start_ns);
  });
  std::vector<DeviceStep> all;
  for (const Step& step : ordered) {
    const auto end = ends.find({step.rank, step.step});
    if (end == ends.end()) continue;
    const bool is_first = all.empty() || all.back().rank != step.rank;
    const std::int64_t start =
        step.device_start_ns.value_or(is_first ? step.start_ns : all.back().end_ns);
    if (end->second > start) all.push_back({step.rank, step.step, start, end->second});
  }
  return all;
}

std::set<std::int32_t> lagging_ranks(std::span<const Step> steps, const DeviceEnds& ends) {
  std::set<std::int32_t> lagging;
  for (const Step& step : steps) {
    const auto end = ends.find({step.rank, step.step});
    const auto allowed =
        static_cast<std::int64_t>(kLag * static_cast<double>(step.end_ns - step.start_ns));
    if (end != ends.end() && end->second - step.end_ns > allowed) lagging.insert(step.rank);
  }
  return lagging;
}

std::int64_t steady_step_time(const Trace& trace) {
  return steady_step_time(trace, trace.steps, device_ends(trace));
}

std::int64_t steady_step_time(const Trace& trace, std::span<const Step> steps,
                              const DeviceEnds& ends) {
  if (integer(trace.metadata, "unknown_costs", 0) > 0) return 0;
  const std::set<std::int32_t> lagging = lagging_ranks(steps, ends);
  std::map<std::int32_t, std::int64_t> longest;
  const auto take = [&](std::int32_t step, std::int64_t ns) {
    auto& duration = longest[step];
    duration = std::max(duration, ns);
  };
  for (const Step& step : steps) {
    if (!lagging.contains(step.rank)) take(step.step, step.end_ns - step.start_ns);
  }
  for (const DeviceStep& step : device_steps(steps, ends)) {
    if (lagging.contains(step.rank)) take(step.step, step.end_ns - step.start_ns);
  }
  std::vector<std::int64_t> durations;
  for (const std::int32_t step : steady_steps(trace)) durations.push_back(longest[step]);
  return median(std::move(durations));
}

}  // namespace foreshard::traces
