// A rank's memory, replayed from what its allocator did: peaks, what held the memory at the peak, and
// the levels over time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

struct StepPeak {
  std::int64_t allocated_bytes = 0;
  std::int64_t reserved_bytes = 0;
  std::int64_t host_bytes = 0;
};

struct MemoryHistory {
  MemoryPeak peak;
  MemoryTimeline timeline;
  std::map<std::int32_t, StepPeak> steps;  // highest while in that step
  std::int64_t unmatched = 0;        // frees without an allocation, allocations of what is not free
  std::optional<OomReport> ran_out;  // the first time
};

// `events`: those of one rank, in their order; `span`: memory_span of the trace.
MemoryHistory replay_memory(const traces::Trace& trace, traces::MemoryEventSpan events,
                            const traces::Interval& span);

// The events of each rank. A trace keeps them together.
std::map<std::int32_t, traces::MemoryEventSpan> by_rank(const traces::Trace& trace);

}  // namespace foreshard::profiler
