// A rank's memory over time in at most kTimelineBuckets equal stretches, each with the highest and
// the lowest of what was allocated, reserved and on the host. No peak is lost: the highest of all
// buckets is the peak of the whole recording.
//
// All ranks of a trace have the same buckets, from the first memory event of any to the end of the
// trace: a host that issues a step at once allocates long before the device is done. What
// a recording lists as there before it counts from the rank's first event on. In the object of
// `foreshard inspect --json`: ranks[].memory_timeline, with start_ns, bucket_ns, and of each bucket
// allocated_max_bytes, allocated_min_bytes, reserved_max_bytes, reserved_min_bytes, host_max_bytes
// and host_min_bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/intervals.hpp"
#include "traces/memory_tally.hpp"

namespace foreshard::profiler {

constexpr std::int64_t kTimelineBuckets = 512;

struct MemoryBucket {
  traces::MemoryLevels highest;  // even if only for a moment
  traces::MemoryLevels lowest;   // of those that lasted
};

struct MemoryTimeline {
  std::int64_t start_ns = 0;
  std::int64_t bucket_ns = 0;
  std::vector<MemoryBucket> buckets;  // none where no memory was recorded
};

// From the first memory event of a trace to its last event of any kind; empty where there is none.
traces::Interval memory_span(const traces::Trace& trace);

// Collects one rank's levels in the order of time.
class MemoryTimelineBuilder {
 public:
  explicit MemoryTimelineBuilder(const traces::Interval& span);

  // These hold from `time_ns` on, until the next.
  void add(std::int64_t time_ns, const traces::MemoryLevels& levels);
  MemoryTimeline build();

 private:
  void hold_until(std::size_t bucket);

  MemoryTimeline timeline_;
  traces::MemoryLevels now_;
  std::int64_t since_ns_;
  std::size_t bucket_ = 0;
};

}  // namespace foreshard::profiler
