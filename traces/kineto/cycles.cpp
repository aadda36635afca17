#include "traces/kineto/cycles.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace foreshard::traces::kineto {
namespace {

bool goes_on(const Recording& earlier, const Recording& later) {
  const bool is_one_process = !earlier.host.empty() && earlier.host == later.host &&
                              earlier.process && earlier.process == later.process &&
                              earlier.rank == later.rank;
  if (!is_one_process || later.start_ns < earlier.end_ns) return false;
  const std::vector<Step>&before = earlier.trace.steps, &after = later.trace.steps;
  const bool steps_go_on =
      !before.empty() && !after.empty() && before.back().step < after.front().step;
  return steps_go_on || later.start_ns - earlier.end_ns <= kMaxApart;
}

// Numbers that both parts use mean different things in each: the later part's move behind.
void move_numbers(const Trace& whole, Trace& part) {
  std::int32_t steps = 0;
  if (!whole.steps.empty() && !part.steps.empty()) {
    steps = std::max(0, whole.steps.back().step + 1 - part.steps.front().step);
  }
  std::int64_t correlations = 0;
  for (const Event& event : whole.events) correlations = std::max(correlations, event.correlation);
  for (Step& step : part.steps) step.step += steps;
  part.events.update_all([&](Event& event) {
    if (event.step != 0) event.step += steps;
    if (event.correlation != 0) event.correlation += correlations;
  });
  part.memory.update_all([&](MemoryEvent& event) {
    if (event.step != 0) event.step += steps;
  });
}

// The next part begins with all memory that is there then: until it does, nothing is known of what is
// left of this one's.
void end_memory(Trace& trace, std::int64_t time_ns) {
  std::map<std::pair<bool, std::int64_t>, std::int64_t> blocks;  // bytes by place and address
  std::map<bool, std::int64_t> reserved;                         // by place
  for (const MemoryEvent& event : trace.memory) {
    std::int64_t& block = blocks[{event.on_host, event.address}];
    switch (event.action) {
      case MemoryAction::alloc: block += event.bytes; break;
      case MemoryAction::free_completed: block -= event.bytes; break;
      case MemoryAction::segment_alloc: reserved[event.on_host] += event.bytes; break;
      case MemoryAction::segment_free: reserved[event.on_host] -= event.bytes; break;
      default: break;
    }
  }
  const auto end = [&](MemoryAction action, bool on_host, std::int64_t address,
                       std::int64_t bytes) {
    MemoryEvent event;
    event.time_ns = time_ns;
    event.action = action;
    event.on_host = on_host;
    event.address = address;
    event.bytes = event.requested = bytes;
    if (bytes > 0) trace.memory.push_back(event);
  };
  for (const auto& [block, bytes] : blocks) {
    end(MemoryAction::free_requested, block.first, block.second, bytes);
    end(MemoryAction::free_completed, block.first, block.second, bytes);
  }
  for (const auto& [on_host, bytes] : reserved) end(MemoryAction::segment_free, on_host, 0, bytes);
}

// Threads and streams of the first `lanes_before` lanes go on in the others of their names.
void join_lanes(Trace& trace, std::size_t lanes_before) {
  std::map<std::tuple<bool, StringId, int>, std::int32_t> lanes;
  std::map<std::tuple<bool, StringId, bool>, int> of_name;  // a name may be that of several lanes
  std::vector<std::int32_t> lane_of;
  std::vector<Lane> kept;
  for (const Lane& lane : trace.lanes) {
    const int number = of_name[{lane.device, lane.name, lane_of.size() < lanes_before}]++;
    const auto [found, is_new] =
        lanes.try_emplace({lane.device, lane.name, number}, static_cast<std::int32_t>(kept.size()));
    if (is_new) kept.push_back(lane);
    lane_of.push_back(found->second);
  }
  trace.lanes = std::move(kept);
  trace.events.update_all(
      [&](Event& event) { event.lane = lane_of[static_cast<std::size_t>(event.lane)]; });
  sort(trace);
}

void join(Recording& whole, Recording part) {
  const std::size_t lanes_before = whole.trace.lanes.size();
  const std::int64_t complete_until_ns = !whole.trace.complete ? 0
                                         : part.trace.complete ? part.end_ns
                                                               : whole.end_ns;
  move_numbers(whole.trace, part.trace);
  end_memory(whole.trace, whole.end_ns);
  std::vector<Trace> parts;
  parts.push_back(std::move(whole.trace));
  parts.push_back(std::move(part.trace));
  whole.trace = merge(std::move(parts));
  whole.trace.complete_until_ns = complete_until_ns;
  join_lanes(whole.trace, lanes_before);
  whole.file += "\n" + part.file;
  whole.end_ns = part.end_ns;
  whole.world_size = std::max(whole.world_size, part.world_size);
  whole.cost_keys_mapped += part.cost_keys_mapped;
  whole.cost_keys_unmapped += part.cost_keys_unmapped;
  whole.unrelated_collectives += part.unrelated_collectives;
  whole.mended += part.mended;
  if (whole.incomplete_reason.empty()) whole.incomplete_reason = part.incomplete_reason;
}

}  // namespace

void join_cycles(std::vector<Recording>& recordings) {
  std::vector<std::size_t> by_time(recordings.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::ranges::stable_sort(by_time, {}, [&](std::size_t i) { return recordings[i].start_ns; });
  std::vector<std::size_t> firsts;
  for (const std::size_t index : by_time) {
    const auto first = std::ranges::find_if(
        firsts, [&](std::size_t i) { return goes_on(recordings[i], recordings[index]); });
    if (first == firsts.end()) {
      firsts.push_back(index);
    } else {
      join(recordings[*first], std::move(recordings[index]));
    }
  }
  std::ranges::sort(firsts);
  std::vector<Recording> joined;
  for (const std::size_t index : firsts) joined.push_back(std::move(recordings[index]));
  recordings = std::move(joined);
}

}  // namespace foreshard::traces::kineto
