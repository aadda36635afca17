// What every importer promises of a trace, whatever it was made from (traces/trace.hpp,
// traces/import.hpp): records refer to lanes and text that are there, in the order that Trace defines.
// A fuzzer's assertion: what does not hold aborts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "traces/trace.hpp"

namespace foreshard::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline void require_trace_laws(const traces::Trace& trace) {
  const auto text = [&](traces::StringId id) {
    require(id >= 0 && static_cast<std::size_t>(id) < trace.strings.size());
  };
  for (const traces::Lane& lane : trace.lanes) text(lane.name);
  std::optional<traces::Event> last;
  for (const traces::Event& event : trace.events) {
    require(event.lane >= 0 && static_cast<std::size_t>(event.lane) < trace.lanes.size());
    require(event.end_ns >= event.start_ns);
    require(!last || last->lane < event.lane ||
            (last->lane == event.lane && last->start_ns <= event.start_ns));
    for (const auto id : {event.name, event.phase, event.unit, event.cost_key}) text(id);
    last = event;
  }
  for (const traces::MemoryEvent& event : trace.memory) {
    require(event.bytes >= 0);
    for (const auto id : {event.category, event.owner, event.phase, event.stack}) text(id);
  }
  std::optional<std::int64_t> start;
  for (const traces::DroppedRange& range : trace.dropped_ranges) {
    require(range.end_ns >= range.start_ns && range.records > 0 && range.rank >= traces::kNone);
    require(!start || *start <= range.start_ns);
    start = range.start_ns;
  }
  for (const traces::Counter& counter : trace.counters) {
    require(counter.rank >= 0);
    for (const auto id : {counter.name, counter.unit}) text(id);
    require(std::ranges::is_sorted(counter.samples, {}, &traces::CounterSample::time_ns));
    for (const traces::CounterSample& sample : counter.samples)
      require(std::isfinite(sample.value));
  }
  for (const auto& [reason, records] : trace.dropped) require(records > 0 && !reason.empty());
}

}  // namespace foreshard::fuzz
