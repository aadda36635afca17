#include "profiler/analysis/breakdown.hpp"

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
  TimeBreakdown time;
  time.device_events =
      static_cast<std::int64_t>(compute_.size() + communication_.size() + memory_.size());
  if (time.device_events == 0) return time;

  const auto compute = united(compute_), communication = united(communication_),
             memory = united(memory_);
  std::vector<Interval> every = compute;
  every.insert(every.end(), communication.begin(), communication.end());
  every.insert(every.end(), memory.begin(), memory.end());
  every = united(std::move(every));

  time.span_ns = every.back().end_ns - every.front().start_ns;
  time.compute_ns = length(compute);
  time.communication_ns = length(communication);
  time.memory_operation_ns = length(memory);
  time.idle_ns = time.span_ns - length(every);
  time.overlap_ns = overlap(compute, communication);
  time.exposed_communication_ns = time.communication_ns - time.overlap_ns;
  return time;
}

}  // namespace foreshard::profiler
