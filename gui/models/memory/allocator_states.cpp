#include "gui/models/memory/allocator_states.hpp"

#include <algorithm>

#include "gui/models/memory/memory_curve.hpp"

namespace foreshard::gui {
namespace {

using traces::MemoryAction;
using traces::MemoryEvent;
using traces::MemoryEventPointer;

// Events between two checkpoints: few enough to be applied in a few milliseconds, and many more
// than the state has blocks, so that all checkpoints together are smaller than the events.
constexpr std::size_t kLeastEvents = 16384;
constexpr std::size_t kEventsPerBlock = 16;

}  // namespace

void AllocatorState::apply(MemoryEventPointer at) {
  const MemoryEvent event = *at;
  if (event.on_host) return;
  switch (event.action) {
    case MemoryAction::alloc: awaiting_free.erase(event.address); break;
    case MemoryAction::free_requested: {
      const auto block = tally.device_blocks().find(event.address);
      if (block != tally.device_blocks().end()) awaiting_free[event.address] = block->second;
      break;
    }
    case MemoryAction::free_completed: awaiting_free.erase(event.address); break;
    case MemoryAction::segment_alloc: segments[event.address] = {event.bytes, event.lane}; break;
    case MemoryAction::segment_free: release(event.address, event.bytes); break;
    case MemoryAction::outside_alloc:
    case MemoryAction::outside_free:
    case MemoryAction::out_of_memory:
    case MemoryAction::kCount: break;
  }
  tally.apply(at);
}

// Expandable segments give back any stretch of what they have.
void AllocatorState::release(std::int64_t address, std::int64_t bytes) {
  const std::int64_t end = address + bytes;
  auto segment = segments.upper_bound(address);
  if (segment != segments.begin()) --segment;
  while (segment != segments.end() && segment->first < end) {
    const std::int64_t first = segment->first, last = first + segment->second.bytes;
    const std::int32_t lane = segment->second.lane;
    if (last <= address) {
      ++segment;
      continue;
    }
    segment = segments.erase(segment);
    if (first < address) segments[first] = {address - first, lane};
    if (last > end) segments[end] = {last - end, lane};
  }
}

AllocatorStates::AllocatorStates(std::shared_ptr<const traces::Trace> trace, int rank)
    : trace_(std::move(trace)), events_(memory_of_rank(*trace_, rank)) {
  Checkpoint now;
  checkpoints_.push_back(now);
  for (auto at = events_.begin(); at != events_.end(); ++at) {
    now.state.apply(at);
    ++now.events;
    const std::size_t blocks = now.state.tally.device_blocks().size() + now.state.segments.size() +
                               now.state.awaiting_free.size();
    if (now.events - checkpoints_.back().events >=
        std::max(kLeastEvents, kEventsPerBlock * blocks)) {
      checkpoints_.push_back(now);
    }
  }
}

AllocatorState AllocatorStates::after(std::size_t events) const {
  const auto later =
      std::upper_bound(checkpoints_.begin(), checkpoints_.end(), events,
                       [](std::size_t count, const Checkpoint& c) { return count < c.events; });
  const Checkpoint& from = *(later - 1);
  AllocatorState state = from.state;
  const std::size_t count = std::min(events, events_.size()) - from.events;
  const auto rest = events_.subspan(from.events, count);
  for (auto at = rest.begin(); at != rest.end(); ++at) state.apply(at);
  return state;
}

}  // namespace foreshard::gui
