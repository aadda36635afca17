#include "profiler/analysis/breakdown.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace foreshard::profiler {

using traces::EventKind;
using traces::Interval;

void BreakdownBuilder::add(const traces::Event& event) {
  const Interval interval{event.start_ns, event.end_ns};
  if (event.kind == EventKind::compute) compute_.push_back(interval);
  if (event.kind == EventKind::communication) communication_.push_back(interval);
  if (event.kind == EventKind::memory) memory_.push_back(interval);
}

TimeBreakdown BreakdownBuilder::build() const {
  Interval whole{std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min()};
  for (const auto* const intervals : {&compute_, &communication_, &memory_}) {
    for (const Interval& one : *intervals) {
      whole = {std::min(whole.start_ns, one.start_ns), std::max(whole.end_ns, one.end_ns)};
    }
  }
  return build(whole);
}

TimeBreakdown BreakdownBuilder::build(const Interval& within) const {
  const auto cut = [&](const std::vector<Interval>& intervals) {
    std::vector<Interval> inside;
    for (const Interval& one : intervals) {
      if (one.start_ns > within.end_ns || one.end_ns < within.start_ns) continue;
      inside.push_back(
          {std::max(one.start_ns, within.start_ns), std::min(one.end_ns, within.end_ns)});
    }
    return inside;
  };
  auto compute = cut(compute_), communication = cut(communication_), memory = cut(memory_);
  TimeBreakdown time;
  time.device_events =
      static_cast<std::int64_t>(compute.size() + communication.size() + memory.size());
  if (time.device_events == 0) return time;

  compute = united(std::move(compute));
  communication = united(std::move(communication));
  memory = united(std::move(memory));
  std::vector<Interval> every = compute;
  every.insert(every.end(), communication.begin(), communication.end());
  every.insert(every.end(), memory.begin(), memory.end());
  every = united(std::move(every));

  time.span_ns = within.end_ns - within.start_ns;
  time.compute_ns = length(compute);
  time.communication_ns = length(communication);
  time.memory_operation_ns = length(memory);
  time.idle_ns = time.span_ns - length(every);
  time.overlap_ns = overlap(compute, communication);
  time.exposed_communication_ns = time.communication_ns - time.overlap_ns;
  return time;
}

}  // namespace foreshard::profiler
