#include "traces/kineto/flow_links.hpp"

#include <algorithm>
#include <unordered_map>

#include "traces/kineto/collected.hpp"

namespace foreshard::traces::kineto {
namespace {

using Kind = FlowEnd::Kind;

// Of those that begin then the innermost, or of an operator's backward the outermost; null without any.
Event* event_of(Collected& recording, const FlowEnd& end) {
  const auto lane = static_cast<std::size_t>(end.lane);
  Event* const first = recording.events.data() + recording.lane_begin[lane];
  Event* const last = recording.events.data() + recording.lane_begin[lane + 1];
  Event* const from = std::ranges::lower_bound(first, last, end.time_ns, {}, &Event::start_ns);
  Event* const to = std::ranges::upper_bound(from, last, end.time_ns, {}, &Event::start_ns);
  if (from == to) return nullptr;
  return end.kind == Kind::backward ? from : to - 1;
}

}  // namespace

void link_by_flows(Collected& recording) {
  std::unordered_map<std::int64_t, std::int64_t> correlations;  // of the launch, by flow
  std::unordered_map<std::int64_t, std::uint32_t> forward;      // 1 + index, by flow
  const auto begin = [&](const FlowEnd& end, Event& event) {
    if (end.kind == Kind::forward) {
      forward.emplace(end.flow, static_cast<std::uint32_t>(&event - recording.events.data() + 1));
      return;
    }
    if (event.correlation == 0) event.correlation = end.flow;
    correlations.emplace(end.flow, event.correlation);
  };
  const auto finish = [&](const FlowEnd& end, Event& event) {
    if (end.kind == Kind::backward) {
      const auto known = forward.find(end.flow);
      EventLinks& links =
          recording.links[static_cast<std::size_t>(&event - recording.events.data())];
      if (known != forward.end()) links.forward = known->second;
    } else if (event.correlation == 0) {
      const auto known = correlations.find(end.flow);
      event.correlation = known == correlations.end() ? end.flow : known->second;
    }
  };
  for (const bool of_beginnings : {true, false}) {
    for (const FlowEnd& end : recording.flows) {
      if ((end.kind == Kind::launch || end.kind == Kind::forward) != of_beginnings) continue;
      Event* const event = event_of(recording, end);
      if (event == nullptr) continue;
      of_beginnings ? begin(end, *event) : finish(end, *event);
    }
  }
}

}  // namespace foreshard::traces::kineto
