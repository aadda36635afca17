#include "profiler/rehearsal/program/moments.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace foreshard::profiler {
namespace {

using traces::AllocatorAction;
using traces::MemoryAction;
using What = Moment::What;

// A call that the profile does not have was made when the one before it was.
void add_calls(const std::vector<DeviceCall>& calls, const ProfiledCalls& profiled,
               std::vector<Moment>& all) {
  std::int64_t last = 0;
  for (std::size_t n = 0; n < calls.size(); ++n) {
    const std::int64_t time = profiled.of(calls[n].correlation).time_ns;
    if (time != ProfiledCall::kNoTime) last = time;
    all.push_back({last, What::call, n});
  }
}

void sort(std::vector<Moment>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Moment& a, const Moment& b) {
    return std::tie(a.time_ns, a.what) < std::tie(b.time_ns, b.what);
  });
}

// The device that the rank used.
std::span<const traces::SnapshotEvent> longest(const traces::Snapshot& snapshot) {
  const auto most =
      std::max_element(snapshot.devices.begin(), snapshot.devices.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (most == snapshot.devices.end()) return {};
  return *most;
}

bool are_same(const traces::MemoryEvent& profiled, const traces::SnapshotEvent& event) {
  const bool allocates = event.action == AllocatorAction::alloc;
  return profiled.address == event.address && (profiled.action == MemoryAction::alloc) == allocates;
}

// The last events of the history are those of the profile, which has their times. A free is completed
// when the event before it is.
void add_memory(const CapturedStep& step, Moments& moments) {
  std::vector<traces::MemoryEvent> profiled;
  for (const traces::MemoryEvent& event : step.profile.memory) {
    const bool is_known =
        event.action == MemoryAction::alloc || event.action == MemoryAction::free_requested;
    if (!event.on_host && is_known) profiled.push_back(event);
  }
  const auto& history = moments.history;
  std::vector<std::int64_t> times(history.size(), ProfiledCall::kNoTime);
  moments.before = history.size();
  auto next = profiled.rbegin();
  for (std::size_t n = history.size(); n-- > 0 && next != profiled.rend();) {
    const AllocatorAction action = history[n].action;
    if (action != AllocatorAction::alloc && action != AllocatorAction::free_requested) continue;
    if (!are_same(*next, history[n])) break;
    times[n] = next->time_ns;
    moments.before = n;
    ++next;
  }
  std::int64_t last = 0;
  for (std::size_t n = moments.before; n < history.size(); ++n) {
    if (times[n] != ProfiledCall::kNoTime) last = times[n];
    moments.all.push_back({last, What::memory, n});
  }
}

// Ranges of the host that no other one crosses.
void add_ranges(const CapturedStep& step, std::vector<Moment>& all) {
  struct Range {
    std::int64_t start, end;
    std::size_t event;
  };
  std::vector<Range> ranges;
  for (std::size_t n = 0; n < step.profile.events.size(); ++n) {
    const traces::Event event = step.profile.events[n];
    const bool is_host = !step.profile.lanes[static_cast<std::size_t>(event.lane)].device;
    if (event.kind == traces::EventKind::range && is_host && event.end_ns > event.start_ns) {
      ranges.push_back({event.start_ns, event.end_ns, n});
    }
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.start, -a.end) < std::pair(b.start, -b.end);
  });
  std::vector<std::int64_t> open;  // ends
  for (const Range& range : ranges) {
    while (!open.empty() && open.back() <= range.start) open.pop_back();
    if (!open.empty() && range.end > open.back()) continue;
    open.push_back(range.end);
    all.push_back({range.start, What::range_begin, range.event});
    all.push_back({range.end, What::range_end, range.event});
  }
}

}  // namespace

Moments moments_of(const CapturedStep& step, const ProfiledCalls& profiled) {
  Moments moments;
  moments.history = longest(step.allocations);
  add_ranges(step, moments.all);
  add_memory(step, moments);
  add_calls(step.log.calls, profiled, moments.all);
  sort(moments.all);
  return moments;
}

std::vector<Moment> moments_of(const CapturedGraph& graph, const ProfiledCalls& profiled) {
  std::vector<Moment> all;
  for (std::size_t n = 0; n < graph.profile.memory.size(); ++n) {
    const traces::MemoryEvent& event = graph.profile.memory[n];
    if (!event.on_host && event.action == MemoryAction::alloc) {
      all.push_back({event.time_ns, What::memory, n});
    }
  }
  add_calls(graph.calls, profiled, all);
  sort(all);
  return all;
}

}  // namespace foreshard::profiler
