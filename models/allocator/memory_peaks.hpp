// The most bytes that an allocator had allocated, reserved and active over a stretch of a run, as
// predictions and training runs report them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/allocator/allocator_types.hpp"

namespace foreshard {

struct MemoryPeaks {
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  std::int64_t active = 0;

  // Those since the allocator's peaks were reset.
  void include(const AllocatorStatistics& statistics) {
    allocated = std::max(allocated, statistics.peak_allocated);
    reserved = std::max(reserved, statistics.peak_reserved);
    active = std::max(active, statistics.peak_active);
  }
  bool operator==(const MemoryPeaks&) const = default;
};

// Adds the peaks to an object of an answer, under the names that all answers give them.
template <typename Json>
void add_peaks(Json& object, const MemoryPeaks& peaks) {
  object["peak_allocated_bytes"] = peaks.allocated;
  object["peak_reserved_bytes"] = peaks.reserved;
  object["peak_active_bytes"] = peaks.active;
}

}  // namespace foreshard
