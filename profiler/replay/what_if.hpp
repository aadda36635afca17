// What-if replays: the recorded requests under the allocator settings that commonly avoid
// out-of-memory errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/replay/memory_holders.hpp"
#include "traces/allocator/allocator_replay.hpp"

namespace foreshard::profiler {

// Where reserved memory was not allocated, at one moment of a replay.
struct Fragmentation {
  std::int64_t reserved = 0, allocated = 0, largest_free = 0;
};
Result<Fragmentation> fragmentation_after(const traces::AllocatorHistory& history,
                                          traces::ReplayOptions options, std::size_t event);

// How a replay went.
struct Outcome {
  std::int64_t failures = 0;
  std::int64_t peak_reserved = 0, peak_allocated = 0;
  std::optional<OutOfMemory> failure;    // the first one
  std::optional<std::size_t> failed_at;  // its event
  // Of the device: what was never reserved, or, below 0, what the first failure lacked.
  std::optional<std::int64_t> headroom;
};
Outcome outcome_of(const traces::ReplayResult& result, std::optional<std::int64_t> capacity);

struct WhatIf {
  std::string change;
  std::string settings;  // as --allocator takes it; "": the program changes
  std::string how;       // what to set or to call for it
  Outcome outcome;
};

struct Recording {
  traces::AllocatorHistory history;
  std::optional<traces::Trace> trace;  // of a snapshot
  std::optional<MemoryHolders> contents;
  int device = 0;
};

// Other settings than `asked` on the same device, and the program's own part: freeing what FSDP had
// gathered and nothing used any more.
Result<std::vector<WhatIf>> what_ifs(const Recording& recording, const traces::ReplayOptions& asked,
                                     const std::string& asked_settings);

}  // namespace foreshard::profiler
