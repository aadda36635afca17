#include "gui/models/timeline/derived_rows.hpp"

#include <algorithm>

#include "gui/models/timeline/row_kind.hpp"
#include "traces/intervals.hpp"

namespace foreshard::gui {
namespace {

using traces::EventKind;
using traces::Interval;

// Runs of equal name; a run ends where the next begins, but not later than its step.
void extend(std::vector<DerivedSpan>& runs, const traces::Event& event, traces::StringId name,
            std::int32_t& step) {
  const bool goes_on = !runs.empty() && runs.back().name == name &&
                       runs.back().phase == event.phase && step == event.step;
  if (goes_on) {
    runs.back().span.end_ns = std::max(runs.back().span.end_ns, event.end_ns);
  } else {
    if (!runs.empty() && runs.back().span.end_ns > event.start_ns) {
      runs.back().span.end_ns = event.start_ns;
    }
    runs.push_back({{event.start_ns, event.end_ns}, name, event.phase});
  }
  step = event.step;
}

std::vector<Interval> without(const std::vector<Interval>& from, const std::vector<Interval>& cut) {
  std::vector<Interval> left;
  std::size_t at = 0;
  for (Interval interval : from) {
    while (at < cut.size() && cut[at].end_ns <= interval.start_ns) ++at;
    for (std::size_t n = at; n < cut.size() && cut[n].start_ns < interval.end_ns; ++n) {
      if (cut[n].start_ns > interval.start_ns) {
        left.push_back({interval.start_ns, cut[n].start_ns});
      }
      interval.start_ns = std::max(interval.start_ns, cut[n].end_ns);
    }
    if (interval.start_ns < interval.end_ns) left.push_back(interval);
  }
  return left;
}

}  // namespace

DerivedRows derive_rows(const traces::Trace& trace, int rank) {
  std::vector<std::size_t> work, host;  // of the events
  std::vector<Interval> compute, communication;
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane) {
    if (trace.lanes[lane].rank != rank) continue;
    const bool is_device = trace.lanes[lane].device;
    const LaneEvents events = events_of(trace, static_cast<std::int32_t>(lane));
    const bool is_copies = row_kind(trace, trace.lanes[lane], events) == RowKind::copies;
    for (std::size_t n = events.first; n < events.end; ++n) {
      const traces::Event& event = trace.events[n];
      if (event.end_ns <= event.start_ns) continue;
      if (is_device && event.kind == EventKind::compute) {
        compute.push_back({event.start_ns, event.end_ns});
        const bool is_placed = event.phase != 0 || event.unit != 0;
        if (is_placed && !is_copies) work.push_back(n);
      } else if (is_device && event.kind == EventKind::communication) {
        communication.push_back({event.start_ns, event.end_ns});
      } else if (!is_device && event.kind == EventKind::host_compute && event.phase != 0) {
        host.push_back(n);
      }
    }
  }
  if (work.empty()) work = host;
  const auto is_earlier = [&](std::size_t a, std::size_t b) {
    return trace.events[a].start_ns < trace.events[b].start_ns;
  };
  // The events of one stream are in order already.
  if (!std::is_sorted(work.begin(), work.end(), is_earlier)) {
    std::stable_sort(work.begin(), work.end(), is_earlier);
  }
  DerivedRows rows;
  std::int32_t phase_step = traces::kNone, unit_step = traces::kNone;
  for (const std::size_t n : work) {
    const traces::Event event = trace.events[n];
    if (event.phase != 0) extend(rows.phases, event, event.phase, phase_step);
    if (event.unit != 0) extend(rows.units, event, event.unit, unit_step);
  }
  const std::vector<Interval> exposed =
      without(traces::united(std::move(communication)), traces::united(std::move(compute)));
  rows.exposed.reserve(exposed.size());
  for (const Interval& interval : exposed) rows.exposed.push_back({interval, 0, 0});
  return rows;
}

}  // namespace foreshard::gui
