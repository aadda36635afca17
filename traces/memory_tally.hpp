// Memory levels and live blocks after a list of memory events.
//
// A recording may lack the address of a block (address 0); such blocks count towards the levels, but
// cannot be distinguished. Damaged recordings free what was never allocated and allocate what is not
// free: the former changes nothing, the latter replaces the block.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "traces/trace.hpp"

namespace foreshard::traces {

struct MemoryLevels {
  std::int64_t allocated = 0;  // handed out and not requested to be freed, on the device
  std::int64_t reserved = 0;   // in segments of the allocator
  std::int64_t host = 0;
  std::int64_t outside = 0;  // of the device, by others than the allocator; 0 where not recorded
  bool operator==(const MemoryLevels&) const = default;
};

// Of one rank; takes its events in their order and points to those that made the live blocks.
class MemoryTally {
 public:
  // False where the event does not fit those before it.
  bool apply(MemoryEventPointer at);

  const MemoryLevels& levels() const { return levels_; }

  using Blocks = std::unordered_map<std::int64_t, MemoryEventPointer>;  // by address
  const Blocks& device_blocks() const { return device_blocks_; }

  struct Unplaced {
    std::int64_t bytes = 0, blocks = 0;  // allocated less freed
  };
  const std::map<StringId, Unplaced>& unplaced() const { return unplaced_; }  // by category

 private:
  bool allocate(MemoryEventPointer at, std::int64_t& level);
  bool free(const MemoryEvent& event, std::int64_t& level);

  MemoryLevels levels_;
  Blocks device_blocks_, host_blocks_;
  std::map<StringId, Unplaced> unplaced_;
};

}  // namespace foreshard::traces
