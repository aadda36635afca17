// A snapshot's recording of one device as an allocation history, to be replayed.
//
// A snapshot does not say what came from outside the allocator. Both are inferred here:
//
//   empty_cache  a run of released segments that no request asked for: neither a new segment nor an
//                out-of-memory follows
//   device_full  a run that a new segment follows: the driver had refused it. Where the stacks say
//                that the program asked for the release, or without stacks, where the device was
//                seen to hold more than what was refused, it is an empty_cache all the same.
//
// A run before an out-of-memory is a refusal too; the capacity says so (AllocatorHistory::capacity).
// Memory of private pools (CUDA graphs, MemPool) takes no part: it is left out and counted.
#pragma once

#include <vector>

#include "models/error.hpp"
#include "traces/allocator_history.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

struct SnapshotHistory {
  AllocatorHistory history;
  std::vector<std::int64_t> event_of;  // of each history event: the snapshot's, or -1 if inferred
  std::int64_t misfits = 0;            // events that contradict the end state
  std::int64_t left_out = 0;           // events and segments of private pools
};

// Devices with events; those with segments alone follow.
std::vector<int> recorded_devices(const Snapshot& snapshot);

SnapshotHistory history_of(const Snapshot& snapshot, int device);

}  // namespace foreshard::traces
