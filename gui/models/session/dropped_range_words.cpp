#include "gui/models/session/dropped_range_words.hpp"

#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"

namespace foreshard::gui {
namespace {

// Ranges of one kind of record, together.
struct DroppedTotal {
  std::int64_t records = 0, start_ns = 0, end_ns = 0;
  int ranges = 0;

  void add(const traces::DroppedRange& range) {
    records += range.records;
    start_ns = ranges == 0 ? range.start_ns : std::min(start_ns, range.start_ns);
    end_ns = ranges == 0 ? range.end_ns : std::max(end_ns, range.end_ns);
    ++ranges;
  }
};

constexpr Words words("foreshard::gui::dropped_ranges");

std::int64_t first_event_of(const traces::Trace& trace) {
  std::int64_t first = trace.events.empty() ? 0 : trace.events[0].start_ns;
  for (const traces::Event& event : trace.events) first = std::min(first, event.start_ns);
  return first;
}

QString moment_text(std::int64_t ns) {
  return time_figure(static_cast<double>(ns)).text();
}

// The step of any rank that it happened in, as the ruler counts from its start; null: in several or
// in none.
const traces::Step* step_of(const traces::Trace& trace, const DroppedTotal& total) {
  const auto step =
      std::find_if(trace.steps.begin(), trace.steps.end(), [&](const traces::Step& one) {
        return one.start_ns <= total.start_ns && total.end_ns <= one.end_ns;
      });
  return step == trace.steps.end() ? nullptr : &*step;
}

QString when(const traces::Trace& trace, const DroppedTotal& total) {
  const traces::Step* const step = step_of(trace, total);
  const std::int64_t origin_ns = step != nullptr ? step->start_ns : first_event_of(trace);
  const QString from = moment_text(total.start_ns - origin_ns);
  QString until = moment_text(total.end_ns - origin_ns);
  if (step != nullptr) until = words("%1 of step %2").arg(until).arg(step->step);
  if (total.start_ns == total.end_ns) return words("at %1").arg(until);
  if (total.ranges == 1) return words("between %1 and %2").arg(from, until);
  return words("between %1 and %2, in %3 ranges")
      .arg(from, until, count_figure(total.ranges).text());
}

}  // namespace

bool concerns(const traces::DroppedRange& range, std::optional<int> rank) {
  return !rank || range.rank == traces::kNone || range.rank == *rank;
}

QStringList dropped_range_sentences(const traces::Trace& trace, std::optional<int> rank,
                                    std::optional<traces::Interval> within) {
  DroppedTotal reported, events, memory;
  for (const traces::DroppedRange& range : trace.dropped_ranges) {
    if (!concerns(range, rank)) continue;
    if (within && (range.end_ns < within->start_ns || range.start_ns > within->end_ns)) continue;
    if (range.of_memory) {
      memory.add(range);
    } else {
      (range.start_ns == range.end_ns ? reported : events).add(range);
    }
  }
  QStringList all;
  if (reported.ranges + events.ranges + memory.ranges == 0) return all;
  if (events.ranges > 0) {
    all << words("At least %1 records were dropped %2. Idle time there is not reliable.")
               .arg(count_figure(events.records).text(), when(trace, events));
  }
  if (reported.ranges > 0) {
    all << (reported.ranges == 1
                ? words("The recorder reported %1 that it had dropped records. Idle time "
                        "before that is not reliable.")
                      .arg(when(trace, reported))
                : words("The recorder reported %1 times, %2, that it had dropped records. "
                        "Idle time before that is not reliable.")
                      .arg(count_figure(reported.ranges).text(), when(trace, reported)));
  }
  if (memory.ranges > 0) {
    all << words(
               "At least %1 of the allocator's records are missing %2. Which memory was in "
               "use there is not known.")
               .arg(count_figure(memory.records).text(), when(trace, memory));
  }
  return all;
}

}  // namespace foreshard::gui
