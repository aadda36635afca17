// What goes in and out of the caching allocator: answers, statistics, what it reports to a listener, what
// it queries of other streams, and its segments as data.
//
// "Allocated" bytes count whole blocks from their request to their free, "active" ones until the
// free has completed, "reserved" ones are those taken from the driver.
#pragma once

#include <cstdint>
#include <vector>

#include "models/allocator/free_blocks.hpp"
#include "models/allocator/segment_source.hpp"

namespace foreshard {

struct AllocatorStatistics {
  std::int64_t allocated = 0, reserved = 0, active = 0;                 // bytes now
  std::int64_t peak_allocated = 0, peak_reserved = 0, peak_active = 0;  // since reset_peaks
  std::int64_t allocations = 0;                                         // requests served so far
  std::int64_t segments_allocated = 0;  // segments and mappings taken from the driver so far
  std::int64_t segments_released = 0;   // given back
  std::int64_t retries = 0;             // second requests after all of the cache was released
  std::int64_t out_of_memory = 0;       // requests that failed
  bool operator==(const AllocatorStatistics&) const = default;
};

// A block. A request of 0 bytes has none: kNoBlock, which may be freed.
struct Allocation {
  BlockId block = kNoBlock;
  Address address = 0;
  std::int64_t bytes = 0;  // of the whole block, at least the request
};

// Why a request failed: the bytes requested, and those allocated and reserved after everything
// that could be given back had been.
struct OutOfMemory {
  std::int64_t requested = 0, allocated = 0, reserved = 0;
};

// A pool apart from the default one: of CUDA graphs, or a torch.cuda.MemPool. Its memory serves its
// own streams alone, counts like any other, and is kept until the pool is released, for a graph may
// use it whenever it runs.
struct PrivatePool {
  int first_stream = 0, streams = 0;  // numbers that stand for streams in this pool
  bool expandable = true;  // follows the rules' expandable_segments; not with a driver of its own
  bool releases_cache =
      false;  // a request may have the cache released; not while a graph is captured
};

// What an allocator did, in the order and with the meaning of PyTorch's memory history.
struct AllocatorEvent {
  enum class Action : std::uint8_t {
    alloc,
    free_requested,
    free_completed,
    segment_alloc,
    segment_free,
    segment_map,
    segment_unmap,
    out_of_memory
  };
  Action action = Action::alloc;
  int stream = 0;
  BlockId block = kNoBlock;  // alloc, free_requested, free_completed
  Address address = 0;
  std::int64_t bytes = 0;      // of the block, the segment or the mapping; of the failed request
  std::int64_t requested = 0;  // alloc and frees: as requested
};

class AllocatorListener {
 public:
  virtual ~AllocatorListener() = default;
  virtual void on_event(const AllocatorEvent& event) = 0;
};

// Events on other streams, which decide when a block that was also used there is free. Without
// one, such blocks wait for free_completed or for the release of the cache.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  virtual std::int64_t record(int stream) = 0;  // at the stream's current end
  virtual bool is_done(std::int64_t event) = 0;
  virtual void wait(std::int64_t event) = 0;  // the host waits
};

// A block that waits for a request of its pool.
struct CachedBlock {
  Address address = 0;
  std::int64_t bytes = 0;
  std::int32_t pool = 0;
  bool operator==(const CachedBlock&) const = default;
};

// One segment, or one mapped stretch of an expandable segment, with its blocks in address order.
struct SegmentState {
  enum class Use : std::uint8_t { free, allocated, awaiting_free };
  struct Part {
    Address address = 0;
    std::int64_t bytes = 0, requested = 0;
    Use use = Use::free;
    BlockId block = kNoBlock;
    bool operator==(const Part&) const = default;
  };
  Address address = 0;
  std::int64_t bytes = 0;
  int stream = 0;
  bool small = false, expandable = false;
  std::vector<Part> blocks = {};
  bool operator==(const SegmentState&) const = default;
};

}  // namespace foreshard
