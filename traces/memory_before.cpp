#include "traces/memory_before.hpp"

#include <limits>

namespace foreshard::traces {

MemoryBefore::Number MemoryBefore::keep(const MemoryEvent& event) {
  events_.emplace(count_, event);
  return count_++;
}

void MemoryBefore::keep_first(const MemoryEvent& event) {
  events_.emplace(count_++ + std::numeric_limits<Number>::min(), event);
}

void MemoryBefore::forget(std::map<Place, Block>::iterator block) {
  events_.erase(block->second.allocated);
  events_.erase(block->second.free_requested);
  blocks_.erase(block);
}

void MemoryBefore::apply(const MemoryEvent& event) {
  const Place place{event.rank, event.on_host, event.address};
  const bool has_address = event.address != 0;
  const auto block = has_address ? blocks_.find(place) : blocks_.end();
  switch (event.action) {
    case MemoryAction::alloc:
      if (block != blocks_.end()) forget(block);
      if (const Number number = keep(event); has_address) blocks_[place] = {number};
      break;
    case MemoryAction::free_requested:
      if (block != blocks_.end()) {
        block->second.free_requested = keep(event);
      } else if (has_address) {
        keep_first(event);
      } else {
        keep(event);
      }
      break;
    case MemoryAction::free_completed:
      if (block != blocks_.end()) {
        forget(block);
      } else if (has_address) {
        keep_first(event);
      }
      break;
    case MemoryAction::segment_alloc:
    case MemoryAction::segment_free: apply_segment(event, place); break;
    case MemoryAction::outside_alloc:
    case MemoryAction::outside_free: keep(event); break;
    case MemoryAction::out_of_memory:
    case MemoryAction::kCount: break;
  }
}

// A part of an expandable segment may be given back alone: only what was mapped as it was undoes it.
void MemoryBefore::apply_segment(const MemoryEvent& event, const Place& place) {
  const auto mapped = segments_.find(place);
  const bool is_whole =
      mapped != segments_.end() && events_.at(mapped->second).bytes == event.bytes;
  if (event.action == MemoryAction::segment_alloc) {
    segments_[place] = keep(event);
  } else if (is_whole) {
    events_.erase(mapped->second);
    segments_.erase(mapped);
  } else {
    keep(event);
  }
}

std::vector<MemoryEvent> MemoryBefore::at(std::int64_t time_ns) const {
  std::vector<MemoryEvent> all;
  all.reserve(events_.size());
  for (const auto& [number, event] : events_) all.emplace_back(event).time_ns = time_ns;
  return all;
}

}  // namespace foreshard::traces
