#include "gui/models/timeline/gathered_units.hpp"

#include <algorithm>
#include <map>

#include "gui/models/timeline/lane_events.hpp"

namespace foreshard::gui {
namespace {

using traces::Event;
using traces::EventKind;

bool is_gather(const std::string& name) {
  return name.find("all_gather") != std::string::npos ||
         name.find("AllGather") != std::string::npos;
}

// The optimizer works on shards, shards are cast and copied in on a stream of their own before they
// are gathered, and gradients are reduced after the parameters were used.
bool is_use(const std::string& name, const std::string& lane) {
  return lane.find("copy_in") == std::string::npos && !is_gather(name) &&
         name.find("reduce_scatter") == std::string::npos;
}

void count_most(GatheredUnits& gathered) {
  struct Change {
    std::int64_t ns, bytes;
    int units;
  };
  std::vector<Change> changes;
  for (const GatheredUnit& unit : gathered.units) {
    for (const GatheredSpan& span : unit.spans) {
      changes.push_back({span.held.start_ns, unit.bytes, 1});
      changes.push_back({span.held.end_ns, -unit.bytes, -1});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.ns != b.ns ? a.ns < b.ns : a.units < b.units;  // frees first
  });
  std::int64_t bytes = 0;
  int units = 0;
  for (const Change& change : changes) {
    bytes += change.bytes;
    units += change.units;
    gathered.most = std::max(gathered.most, static_cast<std::size_t>(std::max(units, 0)));
    gathered.most_bytes = std::max(gathered.most_bytes, bytes);
  }
}

}  // namespace

GatheredUnits gathered_units(const traces::Trace& trace, int rank) {
  std::vector<traces::EventPointer> events;
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane) {
    if (trace.lanes[lane].rank != rank || !trace.lanes[lane].device) continue;
    const LaneEvents range = events_of(trace, static_cast<std::int32_t>(lane));
    for (std::size_t n = range.first; n < range.end; ++n) {
      const Event& event = trace.events[n];
      if (event.unit == 0) continue;
      if (event.kind == EventKind::compute || event.kind == EventKind::communication) {
        events.push_back(trace.events.pointer_to(n));
      }
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a->start_ns < b->start_ns; });
  GatheredUnits gathered;
  std::map<traces::StringId, std::size_t> number;
  for (const traces::EventPointer event : events) {
    if (event->kind == EventKind::communication && is_gather(trace.strings[event->name])) {
      const auto [at, is_new] = number.try_emplace(event->unit, gathered.units.size());
      if (is_new) gathered.units.push_back({event->unit, event->bytes, {}});
      GatheredUnit& unit = gathered.units[at->second];
      unit.bytes = std::max(unit.bytes, event->bytes);
      unit.spans.push_back({{event->start_ns, event->end_ns},
                            {event->start_ns, event->end_ns},
                            {event->end_ns, event->end_ns}});
    } else if (event->kind == EventKind::compute) {
      const auto at = number.find(event->unit);
      const std::string& name = trace.strings[event->name];
      const std::string& phase = trace.strings[event->phase];
      const std::string& lane_name =
          trace.strings[trace.lanes[static_cast<std::size_t>(event->lane)].name];
      if (at == number.end() || phase == "optimizer" || !is_use(name, lane_name)) continue;
      GatheredSpan& span = gathered.units[at->second].spans.back();
      if (event->start_ns < span.gathering.end_ns) continue;
      if (span.used.end_ns == span.used.start_ns) span.used.start_ns = event->start_ns;
      span.used.end_ns = std::max(span.used.end_ns, event->end_ns);
      span.held.end_ns = std::max(span.held.end_ns, event->end_ns);
    }
  }
  count_most(gathered);
  return gathered;
}

}  // namespace foreshard::gui
