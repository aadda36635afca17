// Memory holders of a device at one moment of an imported snapshot: by category, and as groups of
// equal blocks for one purpose ("32 x 234,881,024 B linear"); and the parameters that FSDP unsharded
// until then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/allocator/allocator_history.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

struct HolderGroup {
  std::string category, role;
  std::int64_t block_bytes = 0;  // of each; of the largest one in a category's sum
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;  // of all
};

// Blocks that came, and in part went, before the moment.
struct UnshardedGroup {
  HolderGroup made;
  std::int64_t peak_live = 0, left = 0;  // blocks
};

struct MemoryHolders {
  std::int64_t time_ns = 0;
  bool out_of_memory = false;
  std::int64_t allocated = 0, requested = 0;  // requested: what could not be had
  std::vector<HolderGroup> categories;        // largest first
  std::vector<HolderGroup> groups;            // the same
  std::vector<UnshardedGroup> gathered;       // of all_gather and unsharded_parameters
};

// The role of an owner "unit: role".
std::string role_of(const std::string& owner);

// At the first out-of-memory of a rank, or else when its allocated memory first reached its peak.
MemoryHolders memory_holders(const traces::Trace& trace, int rank);

// The history had the program freed what FSDP had gathered (and nothing used any more) before the
// first request that failed: those blocks' frees are put before it.
traces::AllocatorHistory with_unsharded_freed(const traces::AllocatorHistory& history,
                                              const traces::Trace& trace, int rank);

}  // namespace foreshard::profiler
