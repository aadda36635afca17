// What a device's allocator held before the first recorded event: its end state with the events
// undone, last one first.
//
// A block that is still there at the end has its recorded size. Of others only the request is known:
// such a block has the rounded size, or reaches to its neighbour where the allocator would not have
// cut off what lies between (AllocatorRules::splits). All other memory was free, gaps being one
// block each.
#pragma once

#include <vector>

#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

struct StartState {
  std::vector<SnapshotSegment> segments;  // by address
  // Events that do not lead to the recorded end, such as the free of a block that it still holds;
  // a trace that ends before the segments were listed has many.
  std::int64_t misfits = 0;
};

StartState start_state(const Snapshot& snapshot, int device);

}  // namespace foreshard::traces
