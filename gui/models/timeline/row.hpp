// A row of the timeline: items that do not overlap, in the order of time.
//
// Items are events of the trace, some two bytes each, or spans of their own that were derived from events: a
// phase, a unit, exposed communication. Events of one lane that overlap, as calls on a host thread that
// nest do, stand in several rows of increasing depth. The row of a counter has no items, but the levels
// of its values.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/models/timeline/counter_levels.hpp"
#include "gui/models/timeline/event_numbers.hpp"
#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

enum class RowKind : std::uint8_t {
  phase,
  unit,
  host,  // a host thread
  compute,
  copies,  // into a collective's buffer, or between host and device
  all_gather,
  reduce_scatter,
  all_reduce,
  stream,   // any other of the device
  ranges,   // that the program named around work of a stream
  exposed,  // communication that no kernel hides
  counter,  // what was sampled
};

// Derived from events; texts are numbers of the trace's strings.
struct DerivedSpan {
  traces::Interval span;
  traces::StringId name = 0;  // of the phase or unit
  traces::StringId phase = 0;
};

class Row {
 public:
  // Of events of one lane.
  Row(RowKind what, int of_rank, std::string name, const traces::Trace& trace,
      const std::vector<std::int32_t>& events, int in_lane, int at_depth)
      : kind(what),
        rank(of_rank),
        lane(in_lane),
        depth(at_depth),
        title(std::move(name)),
        trace_(&trace),
        events_(events) {}
  Row(RowKind what, int of_rank, std::string name, const traces::Trace& trace,
      std::vector<DerivedSpan> spans)
      : kind(what),
        rank(of_rank),
        title(std::move(name)),
        trace_(&trace),
        spans_(std::move(spans)) {}
  // Of a counter of the trace.
  Row(std::string name, const traces::Trace& trace, std::shared_ptr<const CounterLevels> levels)
      : kind(RowKind::counter),
        rank(levels->counter().rank),
        title(std::move(name)),
        trace_(&trace),
        counter_(std::move(levels)) {}

  RowKind kind;
  int rank;
  int lane = traces::kNone;  // of the trace; none of derived rows
  int depth = 0;
  std::string title;

  bool is_derived() const { return lane == traces::kNone; }
  std::size_t size() const { return is_derived() ? spans_.size() : events_.size(); }
  traces::Interval span(std::size_t item) const {
    if (is_derived()) return spans_[item].span;
    const traces::Event& event = trace_->events[static_cast<std::size_t>(events_[item])];
    return {event.start_ns, event.end_ns};
  }
  // Index into Trace::events; kNone of a derived span.
  std::int32_t event(std::size_t item) const {
    return is_derived() ? traces::kNone : events_[item];
  }
  const DerivedSpan& derived(std::size_t item) const { return spans_[item]; }
  traces::StringId name(std::size_t item) const;
  traces::StringId unit(std::size_t item) const;
  traces::StringId phase(std::size_t item) const;
  const traces::Trace& trace() const { return *trace_; }
  const CounterLevels* counter() const { return counter_.get(); }  // null: of another kind
  // A value of its counter: "87.5 %", "1,410 MHz".
  QString value_text(double value) const;

  // The first item that ends after that moment; size() where none does.
  std::size_t first_ending_after(std::int64_t ns) const;
  // The item of an event; size() where it is in another row.
  std::size_t item_of(std::int32_t event) const;

 private:
  const traces::Trace* trace_;
  EventNumbers events_;
  std::vector<DerivedSpan> spans_;
  std::shared_ptr<const CounterLevels> counter_;
};

}  // namespace foreshard::gui
