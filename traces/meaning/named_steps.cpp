#include "traces/meaning/named_steps.hpp"

#include <algorithm>
#include <tuple>

namespace foreshard::traces {

std::vector<Step> steps_of_names(std::vector<Step> named, const Strings& strings) {
  const auto is_others = [&](const Step& step) {
    return !strings[step.label].starts_with("ProfilerStep#");
  };
  if (!std::ranges::all_of(named, is_others)) std::erase_if(named, is_others);
  std::ranges::stable_sort(named, [](const Step& a, const Step& b) {
    return std::tuple(a.start_ns, -a.end_ns) < std::tuple(b.start_ns, -b.end_ns);
  });
  std::vector<Step> steps;
  for (Step step : named) {
    if (!steps.empty()) {
      const Step& last = steps.back();
      // Of threads that work on one step each has a range for it, and clocks are rounded.
      const bool is_same = step.start_ns < last.end_ns && step.label == last.label;
      const std::int64_t middle_ns = step.start_ns + (step.end_ns - step.start_ns) / 2;
      if (is_same || middle_ns < last.end_ns) continue;
    }
    step.step = std::max(step.step, steps.empty() ? 1 : steps.back().step + 1);
    steps.push_back(step);
  }
  return steps;
}

std::int32_t step_at(std::span<const Step> steps, std::int64_t time_ns) {
  const auto next = std::ranges::upper_bound(steps, time_ns, {}, &Step::start_ns);
  if (next == steps.begin()) return 0;
  const Step& step = *std::prev(next);
  return time_ns < step.end_ns ? step.step : 0;
}

}  // namespace foreshard::traces
