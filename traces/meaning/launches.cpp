#include "traces/meaning/launches.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace foreshard::traces {
namespace {

// What a call and the work it launched have in common.
struct Cause {
  std::int32_t rank;
  std::int32_t step;  // of an instruction; kNone with a correlation
  std::int64_t number;
  auto operator<=>(const Cause&) const = default;
};

bool has_cause(const Event& e) {
  return e.correlation != 0 || e.instruction != kNone;
}

Cause cause_of(const Trace& trace, const Event& e) {
  const std::int32_t rank = trace.lanes[static_cast<std::size_t>(e.lane)].rank;
  return e.correlation != 0 ? Cause{rank, kNone, e.correlation}
                            : Cause{rank, e.step, e.instruction};
}

}  // namespace

bool can_launch(const Event& event) {
  if (event.correlation == 0) return event.instruction != kNone && event.kind == EventKind::host;
  return event.kind == EventKind::runtime || event.kind == EventKind::host_wait ||
         event.kind == EventKind::host;
}

Launches::Launches(const Trace& trace)
    : stretches_(trace.events.size() / kEventsOfStretch + 1, kNoStretch) {
  std::vector<std::pair<Cause, std::int32_t>> calls;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    if (can_launch(e)) calls.emplace_back(cause_of(trace, e), static_cast<std::int32_t>(i));
  }
  std::sort(calls.begin(), calls.end());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool is_of_device =
        is_device_work(e.kind) || trace.lanes[static_cast<std::size_t>(e.lane)].device;
    if (!is_of_device || !has_cause(e)) continue;
    const Cause cause = cause_of(trace, e);
    const auto call = std::lower_bound(calls.begin(), calls.end(), std::pair(cause, kUnknown));
    if (call != calls.end() && call->first == cause) add(i, call->second);
  }
  launches_.shrink_to_fit();
}

void Launches::add(std::size_t event, std::int32_t call) {
  std::uint32_t& stretch = stretches_[event / kEventsOfStretch];
  if (stretch == kNoStretch) {
    stretch = static_cast<std::uint32_t>(launches_.size());
    launches_.resize(launches_.size() + kEventsOfStretch, kUnknown);
  }
  launches_[stretch + event % kEventsOfStretch] = call;
}

}  // namespace foreshard::traces
