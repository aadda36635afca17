#include "gui/models/timeline/range_statistics.hpp"

#include <QStringList>
#include <algorithm>
#include <cmath>
#include <map>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/timeline/bus_bandwidth.hpp"
#include "models/plan/plan.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "traces/memory_tally.hpp"
#include "traces/metadata.hpp"

namespace foreshard::gui {
namespace {

constexpr Words range_words("RangeStatistics");

QString time_text(std::int64_t ns) {
  return time_figure(static_cast<double>(ns)).text();
}

void take_memory(const traces::Trace& trace, int rank, RangeStatistics& statistics) {
  traces::MemoryTally tally;
  bool is_inside = false;
  for (auto at = trace.memory.begin(); at != trace.memory.end(); ++at) {
    const traces::MemoryEvent event = *at;
    if (event.rank != rank) continue;
    if (event.time_ns > statistics.range.end_ns) break;
    if (!is_inside && event.time_ns >= statistics.range.start_ns) {
      is_inside = true;
      statistics.allocated_from = tally.levels().allocated;
      statistics.reserved_most = tally.levels().reserved;
    }
    tally.apply(at);
    if (is_inside)
      statistics.reserved_most = std::max(statistics.reserved_most, tally.levels().reserved);
  }
  if (!is_inside) {
    statistics.allocated_from = tally.levels().allocated;
    statistics.reserved_most = tally.levels().reserved;
  }
  statistics.allocated_to = tally.levels().allocated;
}

void take_steps(const traces::Trace& trace, int rank, RangeStatistics& statistics) {
  int whole = 0;
  for (const traces::Step& step : trace.steps) {
    if (step.rank != rank) continue;
    const bool is_around = step.start_ns <= statistics.range.start_ns &&
                           step.end_ns >= statistics.range.end_ns && step.end_ns > step.start_ns;
    if (is_around) {
      statistics.share_of_step =
          static_cast<double>(statistics.range.end_ns - statistics.range.start_ns) /
          static_cast<double>(step.end_ns - step.start_ns);
    }
    whole += step.start_ns >= statistics.range.start_ns && step.end_ns <= statistics.range.end_ns;
  }
  const auto text = trace.metadata.find("plan");
  if (whole == 0 || text == trace.metadata.end() || text->second.empty()) return;
  const Result<Plan> plan = parse_plan(text->second, "plan");
  const std::int64_t ranks = traces::integer(trace.metadata, "ranks", 1);
  const double seconds =
      static_cast<double>(statistics.range.end_ns - statistics.range.start_ns) * 1e-9;
  if (plan && seconds > 0) {
    statistics.tokens_per_s =
        static_cast<double>(plan->tokens() * plan->batch.accumulation * ranks) * whole / seconds;
  }
}

}  // namespace

RangeStatistics range_statistics(const LaneSet& lanes, int rank, traces::Interval range) {
  const traces::Trace& trace = lanes.trace();
  RangeStatistics statistics;
  statistics.range = range;
  statistics.rank = rank;
  profiler::BreakdownBuilder breakdown;
  std::map<std::pair<traces::StringId, traces::StringId>, RangeOperator> operators;
  for (const Row& row : lanes.rows()) {
    if (row.rank != rank) continue;
    if (const CounterLevels* counter = row.counter()) {
      if (const auto values = counter->within(range)) {
        statistics.counters.push_back({QString::fromStdString(row.title),
                                       row.value_text(values->mean),
                                       row.value_text(values->highest)});
      }
    }
    if (row.is_derived()) continue;
    for (std::size_t n = row.first_ending_after(range.start_ns); n < row.size(); ++n) {
      traces::Event event = trace.events[static_cast<std::size_t>(row.event(n))];
      if (event.start_ns >= range.end_ns) break;
      if (!traces::is_device_work(event.kind)) continue;
      const double length = static_cast<double>(event.end_ns - event.start_ns);
      event.start_ns = std::max(event.start_ns, range.start_ns);
      event.end_ns = std::min(event.end_ns, range.end_ns);
      const double within = static_cast<double>(event.end_ns - event.start_ns);
      breakdown.add(event);
      RangeOperator& total = operators[{event.name, event.phase}];
      total.name = event.name;
      total.phase = event.phase;
      total.is_collective = event.kind == traces::EventKind::communication;
      total.ns += event.end_ns - event.start_ns;
      if (total.is_collective && length > 0) {
        total.bytes += std::llround(bus_bytes(trace, event).value_or(0) * within / length);
      }
      ++total.count;
    }
  }
  statistics.time = breakdown.build();
  // Idle is all of the range that the device does nothing in, its ends too.
  statistics.time.idle_ns += range.end_ns - range.start_ns - statistics.time.span_ns;
  statistics.time.span_ns = range.end_ns - range.start_ns;
  for (const auto& [key, total] : operators) statistics.operators.push_back(total);
  std::stable_sort(statistics.operators.begin(), statistics.operators.end(),
                   [](const RangeOperator& a, const RangeOperator& b) { return a.ns > b.ns; });
  take_memory(trace, rank, statistics);
  take_steps(trace, rank, statistics);
  return statistics;
}

double RangeStatistics::share(std::int64_t ns) const {
  const std::int64_t length = range.end_ns - range.start_ns;
  return length > 0 ? static_cast<double>(ns) / static_cast<double>(length) : 0;
}

QString RangeStatistics::sentence() const {
  if (time.device_events == 0) return range_words("The device is idle here.");
  const double compute = share(time.compute_ns), exposed = share(time.exposed_communication_ns);
  const double idle = share(time.idle_ns);
  constexpr double kNothing = 0.02;
  if (idle >= compute && idle >= exposed) {
    return range_words(
               "Bound by the host. The device is idle for %1: faster kernels or a faster network "
               "would "
               "not help.")
        .arg(time_text(time.idle_ns));
  }
  if (exposed >= compute) {
    return range_words(
               "Bound by communication. %1 of it is exposed: faster kernels would not help.")
        .arg(time_text(time.exposed_communication_ns));
  }
  if (exposed < kNothing && idle < kNothing) {
    return range_words(
               "Bound by compute. All but %1 of communication is overlapped, so deeper prefetch "
               "would not help.")
        .arg(time_text(time.exposed_communication_ns));
  }
  return range_words("Bound by compute, with %1 of exposed communication and %2 idle.")
      .arg(time_text(time.exposed_communication_ns), time_text(time.idle_ns));
}

QString RangeStatistics::text(const traces::Trace& trace) const {
  QStringList lines{
      range_words("Range of %1, rank %2").arg(time_text(range.end_ns - range.start_ns)).arg(rank),
      sentence()};
  const auto add = [&](const QString& label, std::int64_t ns) {
    lines << QStringLiteral("%1\t%2\t%3").arg(label, time_text(ns), percent_text(share(ns)));
  };
  add(range_words("Compute"), time.compute_ns);
  add(range_words("Communication, overlapped"), time.overlap_ns);
  add(range_words("Communication, exposed"), time.exposed_communication_ns);
  add(range_words("Idle"), time.idle_ns);
  for (const RangeOperator& total : operators) {
    lines << QStringLiteral("%1\t%2\t%3")
                 .arg(QString::fromStdString(trace.strings[total.name]), time_text(total.ns),
                      QString::number(total.count));
  }
  for (const RangeCounter& counter : counters) {
    lines << QStringLiteral("%1\t%2\t%3").arg(counter.name, counter.mean, counter.highest);
  }
  return lines.join(QLatin1Char('\n'));
}

}  // namespace foreshard::gui
