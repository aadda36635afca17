#include "traces/snapshot/recorded_blocks.hpp"

#include <algorithm>

namespace foreshard::traces {
namespace {

using Action = AllocatorAction;

}  // namespace

RecordedBlocks::RecordedBlocks(const AllocatorRules& rules, const StartState& start)
    : rules_(rules) {
  for (const SnapshotSegment& segment : start.segments) {
    segments_.add(segment);
    for (const SnapshotBlock& block : segment.blocks) {
      if (block.use != SegmentState::Use::free) in_use_[block.address] = block.bytes;
    }
  }
}

std::int64_t RecordedBlocks::apply(const SnapshotEvent& event) {
  switch (event.action) {
    case Action::alloc: return allocate(event);
    case Action::free_requested:
    case Action::free_completed: {
      const auto block = in_use_.find(event.address);
      if (block == in_use_.end()) return 0;
      const std::int64_t bytes = block->second;
      if (event.action == Action::free_completed) in_use_.erase(block);
      return bytes;
    }
    case Action::segment_alloc:
    case Action::segment_map: return segments_.add(event) ? event.bytes : 0;
    case Action::segment_free:
    case Action::segment_unmap:
      return segments_.remove(event.address, event.bytes) ? event.bytes : 0;
    case Action::oom: return event.bytes;
    default: return 0;
  }
}

std::int64_t RecordedBlocks::allocate(const SnapshotEvent& event) {
  const auto segment = segments_.find(event.address);
  if (segment == segments_.end() || in_use_.contains(event.address)) return 0;
  Address end = segment->first + segment->second.bytes;
  const auto next = in_use_.upper_bound(event.address);
  if (next != in_use_.end()) end = std::min(end, next->first);
  const std::int64_t room = end - event.address;
  if (event.bytes <= 0 || rules_.round_size(event.bytes) > room) return 0;
  return in_use_[event.address] = block_size(rules_, segment->second, event.bytes, room);
}

}  // namespace foreshard::traces
