// All that the memory view shows of one rank of a trace. Made off the window's thread: it replays
// the allocator's events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/memory/allocator_states.hpp"
#include "gui/models/memory/block_life.hpp"
#include "gui/models/memory/block_map.hpp"
#include "gui/models/memory/device_work.hpp"
#include "gui/models/memory/memory_answer.hpp"
#include "gui/models/memory/memory_curve.hpp"
#include "gui/models/memory/memory_moment.hpp"
#include "gui/models/memory/memory_phases.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::gui {

// Where a trace comes from; each may be missing.
struct MemorySource {
  std::shared_ptr<const traces::Trace> trace;
  std::shared_ptr<const profiler::Analysis> analysis;
  std::shared_ptr<const simulator::Prediction> prediction;  // that the trace was made of
  bool is_predicted = false;
};

// What the view shows of a moment.
struct MomentOfRank {
  std::size_t sample = 0;
  MemoryMoment moment;
  BlockMap map;
  struct Since {
    std::size_t sample = 0;
    MemoryMoment difference;
    traces::MemoryTally::Blocks blocks;  // that were there
  };
  std::optional<Since> since;  // another moment, which this one is compared with
};

class RankMemory {
 public:
  RankMemory(const MemorySource& source, int rank);

  const std::shared_ptr<const MemoryCurve>& curve() const { return curve_; }
  bool is_empty() const { return curve_->size() == 0; }
  const traces::Trace& trace() const { return *trace_; }
  const AllocatorStates& states() const { return states_; }
  const MemoryAnswer& answer() const { return answer_; }
  const std::optional<std::int64_t>& capacity() const { return capacity_; }

  const std::vector<PhaseSpan>& phases(MemoryClock clock) const {
    return phases_[static_cast<std::size_t>(clock)];
  }

  // Where most is allocated: within `step` where it is as much there as ever.
  std::size_t peak_near(traces::Interval step) const;
  // At the cursor, at the request that failed, or where most is allocated in the step.
  std::size_t opening_sample(std::optional<std::int64_t> cursor_ns, traces::Interval step) const;
  // The clock in time that cursors of other views are related to.
  MemoryClock time_clock() const {
    return curve_->has(MemoryClock::device_time) ? MemoryClock::device_time
                                                 : MemoryClock::host_time;
  }

  MomentOfRank moment(std::size_t sample, std::optional<std::size_t> since = {}) const;
  BlockLife life(traces::MemoryEventPointer allocation) const {
    return block_life(states_.events(), allocation);
  }
  // The first sample at which an event has happened.
  std::size_t sample_of(traces::MemoryEventPointer event) const {
    return static_cast<std::size_t>(event - states_.events().begin());
  }

 private:
  std::optional<std::size_t> highest_in(traces::Interval step) const;

  std::shared_ptr<const traces::Trace> trace_;
  std::shared_ptr<const MemoryCurve> curve_;
  AllocatorStates states_;
  DeviceWork work_;
  std::optional<std::int64_t> capacity_;
  MemoryAnswer answer_;
  std::array<std::vector<PhaseSpan>, kMemoryClocks> phases_;
};

// Of the device's allocator: the prediction's, or as an out-of-memory shows it.
std::optional<std::int64_t> memory_capacity(const MemorySource& source, int rank);

}  // namespace foreshard::gui
