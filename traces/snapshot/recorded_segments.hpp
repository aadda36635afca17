// The segments of one recorded allocator at a moment, as events add and remove them: ordinary ones
// whole, expandable ones by stretches, of which neighbours grow together.
#pragma once

#include <cstdint>
#include <map>

#include "models/allocator/caching_allocator.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

class RecordedSegments {
 public:
  struct Segment {
    std::int64_t bytes = 0;
    std::int64_t stream = 0;
    bool small = false, expandable = false;
    PoolIndex pool = 0;
  };

  // False where it overlaps one that is there; nothing changes then.
  bool add(const SnapshotSegment& segment);
  // A segment_alloc or segment_map. Whether it is for small requests follows from the neighbours it
  // grows together with, or from its size.
  bool add(const SnapshotEvent& event);
  // A segment_free or segment_unmap. False where there is no such memory.
  bool remove(Address address, std::int64_t bytes);

  // The segment that holds an address, or end().
  using Map = std::map<Address, Segment>;
  Map::const_iterator find(Address address) const;
  Map::const_iterator end() const { return segments_.end(); }
  const Map& all() const { return segments_; }

 private:
  bool add(Address address, const Segment& segment);

  Map segments_;
};

// Bytes of the block of a request that lies in the segment, with `room` up to the next one: the
// rounded request, or all of it where the allocator would not have cut off the rest.
std::int64_t block_size(const AllocatorRules& rules, const RecordedSegments::Segment& segment,
                        std::int64_t requested, std::int64_t room);

// Finds the pools of events that do not name them: going back from the end, each belongs to the
// segment that then holds its address.
void find_pools(Snapshot& snapshot);

}  // namespace foreshard::traces
