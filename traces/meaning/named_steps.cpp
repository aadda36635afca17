#include "traces/meaning/named_steps.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "traces/meaning/annotations.hpp"

namespace foreshard::traces {
namespace {

enum class Origin : std::uint8_t { pytorch_profiler, program, foreshard_profile };

Origin origin_of(std::string_view name) {
  if (name.starts_with("ProfilerStep#")) return Origin::pytorch_profiler;
  return name.starts_with(kMarkedStep) ? Origin::foreshard_profile : Origin::program;
}

}  // namespace

std::vector<Step> steps_of_names(std::vector<Step> named, const Strings& strings) {
  const auto origin = [&](const Step& step) { return origin_of(strings[step.label]); };
  if (!named.empty()) {
    const Origin first = origin(*std::ranges::min_element(named, {}, origin));
    std::erase_if(named, [&](const Step& step) { return origin(step) != first; });
  }
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
