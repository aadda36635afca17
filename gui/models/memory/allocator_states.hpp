// What a rank's allocator holds at any moment: live blocks, blocks that wait for other streams, and
// segments. Snapshots of the state, taken every so many events, make any moment quick to find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "traces/memory_tally.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

struct AllocatorState {
  struct Segment {
    std::int64_t bytes = 0;
    std::int32_t lane = traces::kNone;  // stream whose pool it is
  };

  traces::MemoryTally tally;
  std::map<std::int64_t, Segment> segments;  // by address
  // Freed by the program while another stream may still use them: by address, how they were
  // allocated.
  std::unordered_map<std::int64_t, traces::MemoryEventPointer> awaiting_free;

  void apply(traces::MemoryEventPointer at);

 private:
  void release(std::int64_t address, std::int64_t bytes);
};

class AllocatorStates {
 public:
  AllocatorStates(std::shared_ptr<const traces::Trace> trace, int rank);

  traces::MemoryEventSpan events() const { return events_; }
  AllocatorState after(std::size_t events) const;  // that many of them

 private:
  struct Checkpoint {
    std::size_t events = 0;
    AllocatorState state;
  };

  std::shared_ptr<const traces::Trace> trace_;
  traces::MemoryEventSpan events_;
  std::vector<Checkpoint> checkpoints_;  // the first is of the beginning
};

}  // namespace foreshard::gui
