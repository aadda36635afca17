// How much of a device's memory a process takes and gives back, call by call, from what CUPTI
// reports of allocations and of memory pools.
//
// cudaMalloc takes what it returns. cudaMallocAsync takes from a pool, which holds memory of the
// device before and after: what counts is by how much the pool grows and shrinks, also when it is
// trimmed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "profiler/record/cupti/activity.hpp"

namespace foreshard::profiler {

struct MemoryChange {
  std::uint64_t address = 0;  // of the allocation, or of the pool
  std::int64_t bytes = 0;     // taken from the device; negative: given back
  bool is_of_pool = false;
};

// Of one process; activities in the order of time.
class DeviceAllocations {
 public:
  // What an allocation or a pool's operation changes. Nothing where that is nothing, as when what
  // is freed was allocated before all this.
  std::optional<MemoryChange> take(const Activity& activity);

 private:
  std::optional<MemoryChange> resize(std::uint64_t pool, std::int64_t bytes);

  std::map<std::uint64_t, std::int64_t> blocks_, pools_;  // bytes, by address
};

}  // namespace foreshard::profiler
