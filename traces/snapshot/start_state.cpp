#include "traces/snapshot/start_state.hpp"

#include <map>

#include "traces/snapshot/recorded_segments.hpp"

namespace foreshard::traces {
namespace {

using Action = AllocatorAction;
using Use = SegmentState::Use;

class Backwards {
 public:
  Backwards(const Snapshot& snapshot, int device) : rules_(snapshot.rules) {
    for (const SnapshotSegment& segment : snapshot.segments) {
      if (segment.device != device) continue;
      const bool fits = segments_.add(segment);
      state_.misfits += !fits;
      if (!fits) continue;
      for (const SnapshotBlock& block : segment.blocks) {
        if (block.use != Use::free) active_[block.address] = block;
      }
    }
  }

  void undo(const SnapshotEvent& event) { state_.misfits += !undoes(event); }

  StartState finish() {
    auto block = active_.begin();
    for (const auto& [address, known] : segments_.all()) {
      SnapshotSegment segment;
      segment.address = address;
      segment.bytes = known.bytes;
      segment.stream = known.stream;
      segment.small = known.small;
      segment.expandable = known.expandable;
      segment.pool = known.pool;
      for (; block != active_.end() && block->first < address; ++block) ++state_.misfits;
      Address at = address;
      const Address end = address + known.bytes;
      for (; block != active_.end() && block->first < end; ++block) {
        const auto next = std::next(block);
        const Address limit = next != active_.end() && next->first < end ? next->first : end;
        SnapshotBlock part = block->second;
        if (part.bytes == 0) {
          part.bytes = block_size(rules_, known, part.requested, limit - part.address);
        }
        if (part.bytes <= 0 || part.bytes > limit - part.address) {
          ++state_.misfits;
          continue;
        }
        if (part.address > at) segment.blocks.push_back({at, part.address - at, 0, Use::free, -1});
        segment.blocks.push_back(part);
        at = part.address + part.bytes;
      }
      if (at < end) segment.blocks.push_back({at, end - at, 0, Use::free, -1});
      state_.segments.push_back(std::move(segment));
    }
    for (; block != active_.end(); ++block) ++state_.misfits;
    return std::move(state_);
  }

 private:
  // Whether the event leads to the present state; afterwards that is the state before it.
  bool undoes(const SnapshotEvent& event) {
    switch (event.action) {
      case Action::alloc: return active_.erase(event.address) == 1;
      case Action::free_requested: {
        const auto block = active_.find(event.address);
        if (block == active_.end()) return false;
        block->second.use = Use::allocated;
        return true;
      }
      case Action::free_completed:
        return active_
            .insert_or_assign(event.address,
                              SnapshotBlock{event.address, 0, event.bytes, Use::awaiting_free, -1})
            .second;
      case Action::segment_alloc:
      case Action::segment_map: return segments_.remove(event.address, event.bytes);
      case Action::segment_free:
      case Action::segment_unmap: return segments_.add(event);
      default: return true;
    }
  }

  const AllocatorRules& rules_;
  RecordedSegments segments_;
  std::map<Address, SnapshotBlock> active_;  // 0 bytes: size unknown
  StartState state_;
};

}  // namespace

StartState start_state(const Snapshot& snapshot, int device) {
  Backwards backwards(snapshot, device);
  const auto index = static_cast<std::size_t>(device);
  if (index < snapshot.devices.size()) {
    const auto& events = snapshot.devices[index];
    for (auto event = events.rbegin(); event != events.rend(); ++event) backwards.undo(*event);
  }
  return backwards.finish();
}

}  // namespace foreshard::traces
