// A snapshot's recording of one device as an allocation history, to be replayed.
//
// A snapshot does not record events from outside the allocator. They are inferred here:
//
//   empty_cache  a run of released segments that no request caused: neither a new segment nor an
//                out-of-memory follows
//   device_full  a run that a new segment follows: the driver had refused it. Where the stacks say
//                that the program requested the release, or without stacks, where the device was
//                seen to hold more than what was refused, it is an empty_cache all the same.
//   release_pool a run that gives back segments of a private pool (a CUDA graph's, a MemPool's): its
//                last user was gone by then. A run of one private pool's segments alone is what the
//                end of a MemPool does: an empty_cache of that pool.
//
// A run before an out-of-memory is a refusal too; the capacity shows it (AllocatorHistory::capacity).
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/error.hpp"
#include "traces/allocator/allocator_history.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

struct SnapshotHistory {
  AllocatorHistory history;
  std::vector<std::int64_t> event_of;  // of each history event: the snapshot's, or -1 if inferred
  std::int64_t misfits = 0;            // events that contradict the end state
  std::int64_t left_out = 0;           // events and segments of streams beyond the first 1024
};

// Devices with events; those with segments alone follow.
std::vector<int> recorded_devices(const Snapshot& snapshot);

// Whether a device ran out of memory, and how many events it has.
std::pair<bool, std::size_t> device_weight(const Snapshot& snapshot, int device);

// The recorded device that ran out of memory, or else has the most events; nothing where none is
// recorded.
std::optional<int> busiest_device(const Snapshot& snapshot);

SnapshotHistory history_of(const Snapshot& snapshot, int device);

}  // namespace foreshard::traces
