// The step as moments in the order of its host threads: calls of the device's, what the allocator did,
// ranges that began and ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/rehearsal/program/captured_step.hpp"
#include "profiler/rehearsal/program/profiled_calls.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::profiler {

struct Moment {
  // Of equal times the first comes first.
  enum class What : std::uint8_t { range_end, range_begin, memory, call };
  std::int64_t time_ns = 0;
  What what = What::call;
  std::size_t index = 0;  // of the log's calls, of the history's events, of the profile's events
};

struct Moments {
  std::span<const traces::SnapshotEvent> history;  // of the rank's device
  std::size_t before = 0;                          // events of the history before the step
  std::vector<Moment> all;
};

Moments moments_of(const CapturedStep& step, const ProfiledCalls& profiled);

// Of what a graph captured: its calls, and allocations by number of its profile's memory events.
std::vector<Moment> moments_of(const CapturedGraph& graph, const ProfiledCalls& profiled);

}  // namespace foreshard::profiler
