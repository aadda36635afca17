#include "profiler/rehearsal/program/profiled_calls.hpp"

#include <algorithm>
#include <iterator>

namespace foreshard::profiler {

ProfiledCalls::ProfiledCalls(const CapturedStep& step) {
  add(step.profile);
  for (const auto& [number, graph] : step.graphs) add(graph.profile);
}

void ProfiledCalls::add(const traces::Trace& profile) {
  const auto before = static_cast<std::int32_t>(keyed_.size());
  keyed_.resize(keyed_.size() + profile.lanes.size());
  for (const traces::Event& event : profile.events) {
    const std::int32_t lane = before + event.lane;
    if (event.correlation != 0) add_call(profile, event, lane);
    if (event.kind == traces::EventKind::host && event.cost_key != 0)
      add_keyed(profile, event, lane);
  }
}

const ProfiledCall& ProfiledCalls::of(std::int64_t correlation) const {
  static const ProfiledCall kNothing;
  const auto found = calls_.find(correlation);
  return found == calls_.end() ? kNothing : found->second;
}

const KeyedOperator* ProfiledCalls::keyed_around(const ProfiledCall& call) const {
  if (call.lane == traces::kNone) return nullptr;
  const auto& all = keyed_[static_cast<std::size_t>(call.lane)];
  const auto after = std::upper_bound(
      all.begin(), all.end(), call.time_ns,
      [](std::int64_t time, const KeyedOperator& op) { return time < op.start_ns; });
  if (after == all.begin() || std::prev(after)->end_ns < call.time_ns) return nullptr;
  return &*std::prev(after);
}

void ProfiledCalls::add_call(const traces::Trace& profile, const traces::Event& event,
                             std::int32_t lane) {
  ProfiledCall& call = calls_[event.correlation];
  const auto text = [&](traces::StringId id) { return profile.strings[id]; };
  if (profile.lanes[static_cast<std::size_t>(event.lane)].device) {
    call.cost_key = text(event.cost_key);
    call.phase = text(event.phase);
    call.unit = text(event.unit);
    call.kernel = text(event.name);
  } else if (call.time_ns == ProfiledCall::kNoTime) {
    call.time_ns = event.start_ns;
    call.lane = lane;
  }
}

// Events of a lane come by start, so that what is inside of another comes after it.
void ProfiledCalls::add_keyed(const traces::Trace& profile, const traces::Event& event,
                              std::int32_t lane) {
  auto& all = keyed_[static_cast<std::size_t>(lane)];
  if (!all.empty() && event.end_ns <= all.back().end_ns) return;
  all.push_back({event.start_ns, event.end_ns, profile.strings[event.name]});
}

}  // namespace foreshard::profiler
