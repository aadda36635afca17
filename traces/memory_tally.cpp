#include "traces/memory_tally.hpp"

#include "traces/input/bounded_sum.hpp"

namespace foreshard::traces {

bool MemoryTally::apply(MemoryEventPointer at) {
  const MemoryEvent event = *at;
  std::int64_t& level = event.on_host ? levels_.host : levels_.allocated;
  switch (event.action) {
    case MemoryAction::alloc: return allocate(at, level);
    case MemoryAction::free_requested: return free(event, level);
    case MemoryAction::segment_alloc:
      levels_.reserved = bounded_sum(levels_.reserved, event.bytes);
      return true;
    case MemoryAction::segment_free:
      levels_.reserved = bounded_sum(levels_.reserved, -event.bytes);
      return true;
    case MemoryAction::outside_alloc:
      levels_.outside = bounded_sum(levels_.outside, event.bytes);
      return true;
    case MemoryAction::outside_free:
      levels_.outside = bounded_sum(levels_.outside, -event.bytes);
      return true;
    case MemoryAction::free_completed:
    case MemoryAction::out_of_memory:
    case MemoryAction::kCount: break;
  }
  return true;
}

bool MemoryTally::allocate(MemoryEventPointer at, std::int64_t& level) {
  const MemoryEvent event = *at;
  level = bounded_sum(level, event.bytes);
  if (event.address == 0) {
    if (!event.on_host) {
      Unplaced& unplaced = unplaced_[event.category];
      unplaced.bytes = bounded_sum(unplaced.bytes, event.bytes);
      ++unplaced.blocks;
    }
    return true;
  }
  Blocks& blocks = event.on_host ? host_blocks_ : device_blocks_;
  const auto [block, is_new] = blocks.try_emplace(event.address, at);
  if (is_new) return true;
  level = bounded_sum(level, -block->second->bytes);
  block->second = at;
  return false;
}

bool MemoryTally::free(const MemoryEvent& event, std::int64_t& level) {
  if (event.address == 0) {
    level = bounded_sum(level, -event.bytes);
    if (!event.on_host) {
      Unplaced& unplaced = unplaced_[event.category];
      unplaced.bytes = bounded_sum(unplaced.bytes, -event.bytes);
      --unplaced.blocks;
    }
    return true;
  }
  Blocks& blocks = event.on_host ? host_blocks_ : device_blocks_;
  const auto block = blocks.find(event.address);
  if (block == blocks.end()) return false;
  level = bounded_sum(level, -block->second->bytes);
  blocks.erase(block);
  return true;
}

}  // namespace foreshard::traces
