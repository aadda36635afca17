#include "gui/models/timeline/event_links.hpp"

#include <algorithm>

#include "gui/models/timeline/lane_events.hpp"
#include "profiler/analysis/matched_events.hpp"
#include "traces/meaning/work_causes.hpp"

namespace foreshard::gui {
namespace {

using traces::Event;
using traces::EventKind;

bool is_work(const Event& event) {
  return traces::is_device_work(event.kind) || event.kind == EventKind::host_compute;
}

Event at(const traces::Trace& trace, EventIndex index) {
  return trace.events[static_cast<std::size_t>(index)];
}

// Of a lane: what had begun last by that moment, but for how a stream waits no more than this.
constexpr std::ptrdiff_t kLooksBack = 64;

void add_begun(const traces::Trace& trace, LaneEvents lane, std::int64_t ns,
               std::vector<std::uint32_t>& events) {
  const auto begin = trace.events.begin();
  const auto first = begin + static_cast<std::ptrdiff_t>(lane.first);
  const auto later =
      std::upper_bound(first, begin + static_cast<std::ptrdiff_t>(lane.end), ns,
                       [](std::int64_t t, const Event& event) { return t < event.start_ns; });
  for (auto at = later - std::min(kLooksBack, later - first); at != later; ++at) {
    const EventKind kind = Event(*at).kind;
    if (!traces::is_device_work(kind) && kind != EventKind::wait) continue;
    events.push_back(static_cast<std::uint32_t>(at - begin));
  }
}

// The work that kept an event of a device waiting, by traces/meaning/work_causes.hpp; nothing where that was its launch or is
// not known.
std::optional<EventIndex> awaited(const LaneSet& lanes, EventIndex index,
                                  const std::vector<std::int32_t>& streams) {
  const traces::Trace& trace = lanes.trace();
  std::vector<std::uint32_t> events;
  for (const std::int32_t stream : streams) {
    add_begun(trace, events_of(trace, stream), at(trace, index).start_ns, events);
  }
  const traces::DeviceWork device = traces::device_work(trace, lanes.launches(), events);
  const auto own = std::find(device.events.begin(), device.events.end(), index);
  if (own == device.events.end()) return std::nullopt;
  const traces::WorkCauses causes = traces::work_causes(device.works, traces::tolerances_of(trace));
  const traces::WorkCause& cause = causes.of[static_cast<std::size_t>(own - device.events.begin())];
  using Kind = traces::WorkCause::Kind;
  if (cause.kind != Kind::before && cause.kind != Kind::other) return std::nullopt;
  return static_cast<EventIndex>(device.events[static_cast<std::size_t>(cause.work)]);
}

// Of a lane the first work begun from that moment on; another than the event itself, which may have no length.
std::optional<EventIndex> first_begun(const traces::Trace& trace, LaneEvents lane, std::int64_t ns,
                                      EventIndex except) {
  const auto begin = trace.events.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(lane.end);
  auto from =
      std::lower_bound(begin + static_cast<std::ptrdiff_t>(lane.first), end, ns,
                       [](const Event& event, std::int64_t t) { return event.start_ns < t; });
  while (from != end && (!is_work(*from) || from - begin == except)) ++from;
  return from == end ? std::nullopt : std::optional(static_cast<EventIndex>(from - begin));
}

// The lanes of a rank that devices have.
std::vector<std::int32_t> streams_of(const traces::Trace& trace, int rank) {
  std::vector<std::int32_t> streams;
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane) {
    if (trace.lanes[lane].device && trace.lanes[lane].rank == rank) {
      streams.push_back(static_cast<std::int32_t>(lane));
    }
  }
  return streams;
}

// Which of the events like it, in the order of time, it is.
std::size_t number_in_step(const LaneSet& lanes, EventIndex index) {
  const Event& event = at(lanes.trace(), index);
  const auto alike = lanes.alike().of(event.lane, AlikeEvents::trait_of(event));
  return static_cast<std::size_t>(std::lower_bound(alike.begin(), alike.end(), index) -
                                  alike.begin());
}

// The event of a lane and step that is the same instruction; mostly it has the same number there.
std::optional<EventIndex> same(const LaneSet& lanes, const Event& event, std::int32_t lane,
                               std::int32_t step, std::size_t number) {
  const auto alike = lanes.alike().of(lane, {step, event.name, event.kind});
  const auto is_same = [&](EventIndex other) {
    return event.stable_key == 0 || at(lanes.trace(), other).stable_key == event.stable_key;
  };
  if (number < alike.size() && is_same(alike[number])) return alike[number];
  if (event.stable_key == 0) return std::nullopt;
  const auto found = std::find_if(alike.begin(), alike.end(), is_same);
  return found == alike.end() ? std::nullopt : std::optional(*found);
}

// The step of that number, or the last one that was recorded.
std::int32_t step_or_last(const traces::Trace& trace, std::int32_t step) {
  std::int32_t last = traces::kNone;
  for (const traces::Step& one : trace.steps) {
    if (one.step == step) return step;
    last = std::max(last, one.step);
  }
  return last == traces::kNone ? step : last;
}

}  // namespace

EventLinks links_of(const LaneSet& lanes, EventIndex index) {
  const traces::Trace& trace = lanes.trace();
  const Event& event = at(trace, index);
  const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
  EventLinks links;
  if (const std::int32_t launch = lanes.launches().of(static_cast<std::size_t>(index));
      lane.device && launch != traces::Launches::kUnknown) {
    links.launched_by = launch;
  }
  if (!lane.device) return links;
  const std::vector<std::int32_t> streams = streams_of(trace, lane.rank);
  links.waited_for = awaited(lanes, index, streams);
  for (const std::int32_t stream : streams) {
    const auto after = first_begun(trace, events_of(trace, stream), event.end_ns, index);
    if (after && (!links.then || at(trace, *after).start_ns < at(trace, *links.then).start_ns)) {
      links.then = after;
    }
  }
  if (event.kind == EventKind::communication) {
    const std::size_t number = number_in_step(lanes, index);
    for (std::size_t other = 0; other < trace.lanes.size(); ++other) {
      if (trace.lanes[other].rank == lane.rank || trace.lanes[other].name != lane.name) continue;
      const auto partner = same(lanes, event, static_cast<std::int32_t>(other), event.step, number);
      if (partner) links.partners.push_back(*partner);
    }
  }
  return links;
}

std::vector<EventIndex> twins_of(const LaneSet& lanes, EventIndex index) {
  const Event& event = at(lanes.trace(), index);
  return lanes.alike().of(event.lane, AlikeEvents::trait_of(event));
}

std::optional<EventIndex> same_in_rank(const LaneSet& lanes, EventIndex index, int by) {
  const traces::Trace& trace = lanes.trace();
  const Event& event = at(trace, index);
  const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
  const auto& groups = lanes.groups();
  const auto own = std::find_if(groups.begin(), groups.end(), [&](const RankGroup& group) {
    return group.ranks.front() == lane.rank;
  });
  const std::ptrdiff_t next = own - groups.begin() + by;
  if (own == groups.end() || next < 0 || next >= static_cast<std::ptrdiff_t>(groups.size())) {
    return std::nullopt;
  }
  const int rank = groups[static_cast<std::size_t>(next)].ranks.front();
  const std::size_t number = number_in_step(lanes, index);
  for (std::size_t other = 0; other < trace.lanes.size(); ++other) {
    if (trace.lanes[other].rank != rank || trace.lanes[other].name != lane.name) continue;
    const auto found = same(lanes, event, static_cast<std::int32_t>(other), event.step, number);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<EventIndex> same_in_step(const LaneSet& lanes, EventIndex index, int by) {
  const Event& event = at(lanes.trace(), index);
  return same(lanes, event, event.lane, event.step + by, number_in_step(lanes, index));
}

// Strings have other numbers there: names are compared first, as they are few, and then keys.
std::optional<EventIndex> same_in_trace(const LaneSet& lanes, EventIndex index,
                                        const LaneSet& others) {
  const traces::Trace& trace = lanes.trace();
  const traces::Trace& there = others.trace();
  const Event& event = at(trace, index);
  const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
  const std::string& name = trace.strings[event.name];
  const std::string& key = trace.strings[event.stable_key];
  const int rank = profiler::RankCounterparts(trace, there)(lane.rank);
  const std::int32_t step = step_or_last(there, event.step);
  const std::size_t number = number_in_step(lanes, index);
  const auto is_same = [&](EventIndex other) {
    return key.empty() || there.strings[at(there, other).stable_key] == key;
  };
  for (std::size_t n = 0; n < there.lanes.size(); ++n) {
    if (there.lanes[n].rank != rank || there.lanes[n].device != lane.device) continue;
    const auto other_lane = static_cast<std::int32_t>(n);
    for (const AlikeEvents::Trait& trait : others.alike().traits(other_lane, step)) {
      if (trait.kind != event.kind || there.strings[trait.name] != name) continue;
      const auto alike = others.alike().of(other_lane, trait);
      if (number < alike.size() && is_same(alike[number])) return alike[number];
      const auto found = std::find_if(alike.begin(), alike.end(), is_same);
      if (!key.empty() && found != alike.end()) return *found;
    }
  }
  return std::nullopt;
}

}  // namespace foreshard::gui
