// PyTorch's CUDA caching allocator, as rules over any backing memory.
//
// (Owned by the allocator's author; see reference: fsdp-semantics section 3 and 11.)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/plan.hpp"
#include "models/units.hpp"

namespace foreshard {

// A device address. Addresses are logical: whoever owns the backing may translate them.
using Address = std::int64_t;

struct AllocatorStatistics {
  std::int64_t allocated = 0, reserved = 0, active = 0;                 // bytes now
  std::int64_t peak_allocated = 0, peak_reserved = 0, peak_active = 0;  // since reset_peaks
  std::int64_t segments_allocated = 0, segments_released = 0, retries = 0;
};

}  // namespace foreshard
