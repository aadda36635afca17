// The blocks of a recorded allocator as events come: how large the block behind each request is.
//
// A recording contains the address of each block and the requested bytes. The block is the rounded
// request, or all the free memory from its address on where the allocator would not have cut off the
// rest; free neighbours being always merged, that memory ends at the next block in use.
#pragma once

#include <map>

#include "traces/snapshot/recorded_segments.hpp"
#include "traces/snapshot/start_state.hpp"

namespace foreshard::traces {

class RecordedBlocks {
 public:
  RecordedBlocks(const AllocatorRules& rules, const StartState& start);

  // Bytes of the block of an alloc, a free, a segment; 0 where the event has nothing to act on.
  std::int64_t apply(const SnapshotEvent& event);

 private:
  std::int64_t allocate(const SnapshotEvent& event);

  const AllocatorRules& rules_;
  RecordedSegments segments_;
  std::map<Address, std::int64_t> in_use_;  // until the free has completed
};

}  // namespace foreshard::traces
