#include "gui/models/timeline/card.hpp"

#include <QStringList>
#include <algorithm>
#include <cmath>

#include "gui/models/base/cost_words.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/timeline/bus_bandwidth.hpp"
#include "gui/models/timeline/row_text.hpp"
#include "models/base/statistics.hpp"
#include "models/program/operators.hpp"
#include "simulator/costs/key_facts.hpp"
#include "traces/intervals.hpp"
#include "traces/recorded_machine.hpp"

namespace foreshard::gui {
namespace {

using traces::Event;
using traces::EventKind;
using traces::Interval;

constexpr Words words("Card");

QString duration_text(std::int64_t ns) {
  return time_figure(static_cast<double>(ns)).text();
}

// How long kernels of the rank ran while the event did, and when the first of its unit began after it.
struct Overlap {
  std::int64_t hidden_ns = 0;
  std::optional<std::int64_t> used_at;
};
Overlap overlap_of(const LaneSet& lanes, const Event& event, int rank) {
  std::vector<Interval> kernels;
  Overlap overlap;
  for (const Row& row : lanes.rows()) {
    if (row.rank != rank || row.is_derived() || row.kind == RowKind::host) continue;
    for (std::size_t n = row.first_ending_after(event.start_ns); n < row.size(); ++n) {
      const Event& other = lanes.trace().events[static_cast<std::size_t>(row.event(n))];
      if (other.start_ns > event.end_ns && (overlap.used_at || other.step != event.step)) break;
      if (other.kind != EventKind::compute) continue;
      if (other.start_ns < event.end_ns) {
        kernels.push_back(
            {std::max(other.start_ns, event.start_ns), std::min(other.end_ns, event.end_ns)});
      } else if (other.unit == event.unit && !overlap.used_at) {
        overlap.used_at = other.start_ns;
      }
    }
  }
  overlap.hidden_ns = traces::length(traces::united(std::move(kernels)));
  return overlap;
}

// "612.3 TFLOP/s, 62 % of peak". More than the memory can do comes from the
// caches, more than a link from switches that reduce.
QString of_peak(const QString& rate, double achieved, double peak) {
  if (peak <= 0) return rate;
  if (achieved > peak) return words("%1, above the data sheet's").arg(rate);
  return words("%1, %2 of peak").arg(rate, percent_text(achieved / peak, 0));
}

void add_collective(const LaneSet& lanes, const Event& event, int rank, Card& card) {
  const std::int64_t ns = event.end_ns - event.start_ns;
  const QString name = card.name;
  if (event.bytes > 0) {
    card.facts.push_back({name.contains(QLatin1String("gather")) ? words("Output") : words("Input"),
                          bytes_figure(event.bytes).text()});
  }
  if (const auto bytes = bus_bytes(lanes.trace(), event); bytes && ns > 0) {
    const double rate = *bytes / static_cast<double>(ns) * 1e9;
    card.facts.push_back(
        {words("Bus bandwidth"), of_peak(rate_figure(rate).text(), rate,
                                         peak_bus_bandwidth(lanes.trace(), rank).value_or(0))});
  }
  const Overlap overlap = overlap_of(lanes, event, rank);
  if (ns > 0) {
    card.facts.push_back(
        {words("Overlapped with compute"),
         QStringLiteral("%1 (%2)").arg(
             duration_text(overlap.hidden_ns),
             percent_text(static_cast<double>(overlap.hidden_ns) / static_cast<double>(ns), 0))});
    if (overlap.hidden_ns < ns) {
      card.facts.push_back({words("Exposed"), duration_text(ns - overlap.hidden_ns)});
    }
  }
  if (overlap.used_at) {
    card.facts.push_back(
        {words("Ready before its use"), duration_text(*overlap.used_at - event.end_ns)});
  }
}

void add_work(const traces::Trace& trace, const Event& event, int rank, Card& card) {
  const bool on_device = trace.lanes[static_cast<std::size_t>(event.lane)].device;
  // A launch has the key of the work that it launched, which takes another time.
  const bool is_work = on_device || event.kind == EventKind::host_compute;
  const double seconds = static_cast<double>(event.end_ns - event.start_ns) * 1e-9;
  CostKey key;
  const bool has_key = parse_cost_key(trace.strings[event.cost_key], key);
  if (!has_key || !is_work || simulator::is_transfer(key.op)) {
    if (event.bytes > 0) card.facts.push_back({words("Bytes"), bytes_figure(event.bytes).text()});
    return;
  }
  const double operations = flops(key), bytes = bytes_moved(key);
  const bool is_arithmetic = simulator::is_arithmetic(key.op) && operations > 0;
  const std::optional<Machine> machine =
      on_device ? traces::recorded_machine(trace, rank) : std::nullopt;
  const double peak_flops = machine ? machine->peak_flops(key.dtype) : 0;
  const double peak_bytes = machine ? machine->memory_bandwidth : 0;
  if (is_arithmetic) {
    card.facts.push_back({words("FLOPs"), flops_figure(operations).text()});
    if (seconds > 0) {
      card.facts.push_back(
          {words("Achieved"), of_peak(flops_figure(operations / seconds).text() + words("/s"),
                                      operations / seconds, peak_flops)});
    }
  }
  if (bytes > 0) {
    card.facts.push_back({words("Bytes"), bytes_figure(static_cast<std::int64_t>(bytes)).text()});
    if (seconds > 0) {
      card.facts.push_back({words("Memory rate"), of_peak(rate_figure(bytes / seconds).text(),
                                                          bytes / seconds, peak_bytes)});
    }
  }
  if (peak_flops > 0 && peak_bytes > 0 && bytes > 0) {
    const bool computes = is_arithmetic && operations / peak_flops > bytes / peak_bytes;
    card.facts.push_back({words("Bound by"), computes ? words("arithmetic") : words("memory")});
  }
}

std::optional<Interval> band_of(const Event& event) {
  if (event.cost_error <= 0 || event.end_ns <= event.start_ns) return std::nullopt;
  const auto ns = static_cast<double>(event.end_ns - event.start_ns);
  const double half = kNinetyPercent * static_cast<double>(event.cost_error);
  return Interval{std::llround(ns * std::max(0.0, 1 - half)), std::llround(ns * (1 + half))};
}

void add_links(const LaneSet& lanes, EventIndex index, Card& card) {
  const traces::Trace& trace = lanes.trace();
  const EventLinks links = links_of(lanes, index);
  const Event& event = trace.events[static_cast<std::size_t>(index)];
  const auto add = [&](const QString& label, std::optional<EventIndex> other, bool is_launch) {
    if (!other) return;
    const Event& linked = trace.events[static_cast<std::size_t>(*other)];
    card.links.push_back(
        {label, QString::fromStdString(trace.strings[linked.name]),
         is_launch ? words("%1 ahead").arg(duration_text(event.start_ns - linked.start_ns))
                   : duration_text(linked.end_ns - linked.start_ns),
         *other});
  };
  add(words("waited for"), links.waited_for, false);
  add(words("then"), links.then, false);
  add(words("launched by"), links.launched_by, true);
  for (const EventIndex partner : links.partners) {
    const Event& other = trace.events[static_cast<std::size_t>(partner)];
    const int rank = trace.lanes[static_cast<std::size_t>(other.lane)].rank;
    add(words("on rank %1").arg(rank), partner, false);
  }
}

}  // namespace

Card card_of(const LaneSet& lanes, EventIndex index, bool with_links) {
  const traces::Trace& trace = lanes.trace();
  const Event& event = trace.events[static_cast<std::size_t>(index)];
  const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
  Card card;
  card.name = QString::fromStdString(trace.strings[event.name]);
  card.colour = colour_of_operator(trace.strings[event.name], trace.strings[event.phase]);
  QStringList place;
  if (event.unit != 0) place << short_unit(trace.strings[event.unit]);
  if (event.phase != 0) place << QString::fromStdString(trace.strings[event.phase]);
  place << words("rank %1").arg(lane.rank);
  card.place = place.join(QStringLiteral(" · "));
  card.duration = duration_text(event.end_ns - event.start_ns);
  const std::int64_t origin = origin_of(trace, event);
  card.times = range_text({event.start_ns - origin, event.end_ns - origin});
  card.facts.push_back({lane.device ? words("Stream") : words("Thread"),
                        QString::fromStdString(trace.strings[lane.name])});
  if (event.kind == EventKind::communication) {
    add_collective(lanes, event, lane.rank, card);
  } else {
    add_work(trace, event, lane.rank, card);
  }
  if (event.cpu_ns >= 0)
    card.facts.push_back({words("Processor time"), duration_text(event.cpu_ns)});
  card.cost_source = cost_source_word(event.cost_source);
  card.cost = cost_source_sentence(event.cost_source);
  card.band = band_of(event);
  if (with_links) add_links(lanes, index, card);
  card.key = QString::fromStdString(trace.strings[event.stable_key]);
  return card;
}

std::int64_t origin_of(const traces::Trace& trace, const Event& event) {
  const int rank = trace.lanes[static_cast<std::size_t>(event.lane)].rank;
  for (const traces::Step& step : trace.steps) {
    if (step.rank == rank && step.step == event.step) return step.start_ns;
  }
  return 0;
}

QString range_text(const traces::Interval& range) {
  return time_range_text(static_cast<double>(range.start_ns), static_cast<double>(range.end_ns));
}

QString Card::text() const {
  QStringList lines{name, place, QStringLiteral("%1 (%2)").arg(duration, times)};
  for (const CardFact& fact : facts) lines << fact.label + QStringLiteral(": ") + fact.value;
  if (!cost.isEmpty()) lines << cost;
  if (band) lines << words("90 %: %1").arg(range_text(*band));
  for (const CardLink& link : links) {
    lines << QStringLiteral("%1 %2 (%3)").arg(link.label, link.name, link.value);
  }
  if (!key.isEmpty()) lines << key;
  return lines.join(QLatin1Char('\n'));
}

}  // namespace foreshard::gui
