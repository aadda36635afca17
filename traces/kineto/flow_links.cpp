#include "traces/kineto/flow_links.hpp"

#include <algorithm>
#include <unordered_map>

#include "traces/kineto/collected.hpp"

namespace foreshard::traces::kineto {
namespace {

// The innermost of those that begin then, null without any.
Event* event_of(Collected& recording, const FlowEnd& end) {
  const auto lane = static_cast<std::size_t>(end.lane);
  Event* const first = recording.events.data() + recording.lane_begin[lane];
  Event* const last = recording.events.data() + recording.lane_begin[lane + 1];
  Event* const next =
      std::upper_bound(first, last, end.time_ns,
                       [](std::int64_t time, const Event& e) { return time < e.start_ns; });
  return next != first && next[-1].start_ns == end.time_ns ? next - 1 : nullptr;
}

}  // namespace

void link_by_flows(Collected& recording) {
  std::unordered_map<std::int64_t, std::int64_t> correlations;  // of the launch, by flow
  for (const bool of_launches : {true, false}) {
    for (const FlowEnd& end : recording.flows) {
      if (end.is_launch != of_launches) continue;
      Event* const event = event_of(recording, end);
      if (event == nullptr) continue;
      if (event->correlation == 0) {
        const auto known = correlations.find(end.flow);
        event->correlation = known == correlations.end() ? end.flow : known->second;
      }
      if (of_launches) correlations.emplace(end.flow, event->correlation);
    }
  }
}

}  // namespace foreshard::traces::kineto
