#include "gui/models/session/loss_words.hpp"

#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"

namespace foreshard::gui {
namespace {

// Losses of one kind, together.
struct LossTotal {
  std::int64_t records = 0, start_ns = 0, end_ns = 0;
  int stretches = 0;

  void add(const traces::Loss& loss) {
    records += loss.records;
    start_ns = stretches == 0 ? loss.start_ns : std::min(start_ns, loss.start_ns);
    end_ns = stretches == 0 ? loss.end_ns : std::max(end_ns, loss.end_ns);
    ++stretches;
  }
};

constexpr Words loss_words("foreshard::gui::losses");

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
const traces::Step* step_of(const traces::Trace& trace, const LossTotal& total) {
  const auto step =
      std::find_if(trace.steps.begin(), trace.steps.end(), [&](const traces::Step& one) {
        return one.start_ns <= total.start_ns && total.end_ns <= one.end_ns;
      });
  return step == trace.steps.end() ? nullptr : &*step;
}

QString when(const traces::Trace& trace, const LossTotal& total) {
  const traces::Step* const step = step_of(trace, total);
  const std::int64_t origin_ns = step != nullptr ? step->start_ns : first_event_of(trace);
  const QString from = moment_text(total.start_ns - origin_ns);
  QString until = moment_text(total.end_ns - origin_ns);
  if (step != nullptr) until = loss_words("%1 of step %2").arg(until).arg(step->step);
  if (total.start_ns == total.end_ns) return loss_words("at %1").arg(until);
  if (total.stretches == 1) return loss_words("between %1 and %2").arg(from, until);
  return loss_words("between %1 and %2, in %3 stretches")
      .arg(from, until, count_figure(total.stretches).text());
}

}  // namespace

bool concerns(const traces::Loss& loss, std::optional<int> rank) {
  return !rank || loss.rank == traces::kNone || loss.rank == *rank;
}

QStringList loss_sentences(const traces::Trace& trace, std::optional<int> rank,
                           std::optional<traces::Interval> within) {
  LossTotal reported, events, memory;
  for (const traces::Loss& loss : trace.losses) {
    if (!concerns(loss, rank)) continue;
    if (within && (loss.end_ns < within->start_ns || loss.start_ns > within->end_ns)) continue;
    if (loss.of_memory) {
      memory.add(loss);
    } else {
      (loss.start_ns == loss.end_ns ? reported : events).add(loss);
    }
  }
  QStringList all;
  if (reported.stretches + events.stretches + memory.stretches == 0) return all;
  if (events.stretches > 0) {
    all << loss_words("At least %1 records were dropped %2. Idle time there is not trustworthy.")
               .arg(count_figure(events.records).text(), when(trace, events));
  }
  if (reported.stretches > 0) {
    all << (reported.stretches == 1
                ? loss_words("The recorder reported %1 that it had dropped records. Idle time "
                             "before that is not trustworthy.")
                      .arg(when(trace, reported))
                : loss_words("The recorder reported %1 times, %2, that it had dropped records. "
                             "Idle time before that is not trustworthy.")
                      .arg(count_figure(reported.stretches).text(), when(trace, reported)));
  }
  if (memory.stretches > 0) {
    all << loss_words(
               "At least %1 of the allocator's records are missing %2. Which memory was in "
               "use there is not known.")
               .arg(count_figure(memory.records).text(), when(trace, memory));
  }
  return all;
}

}  // namespace foreshard::gui
