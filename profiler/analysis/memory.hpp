// A rank's memory over time, replayed from what its allocator did: peaks, and what held the memory
// at the peak.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

struct StepPeak {
  std::int64_t allocated_bytes = 0;
  std::int64_t reserved_bytes = 0;
};

struct MemoryHistory {
  MemoryPeak peak;
  std::map<std::int32_t, StepPeak> steps;  // highest while in that step
  std::int64_t unmatched = 0;  // frees without an allocation, allocations of what is not free
  bool ran_out = false;        // and what is known of the first time:
  std::int64_t refused_bytes = 0, allocated_then = 0, reserved_then = 0;
};

// `events`: those of one rank, in their order.
MemoryHistory replay_memory(const traces::Trace& trace,
                            std::span<const traces::MemoryEvent> events);

// The events of each rank. A trace keeps them together.
std::map<std::int32_t, std::span<const traces::MemoryEvent>> by_rank(const traces::Trace& trace);

}  // namespace foreshard::profiler
