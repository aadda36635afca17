// FSDP units in a step: how long each is gathered, computed and reduced, and whether its parameters came in
// time. A gather is late where it ends after the work before the unit's own was done: a stream of the device
// then waited for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

// Less is what a kernel needs to begin.
inline constexpr std::int64_t kLateGatherNs = 10'000;

// Of a step, the mean of the ranks.
struct UnitTimes {
  std::string unit;
  std::int64_t gather_ns = 0, compute_ns = 0, reduce_ns = 0;
  std::int64_t late_ns = 0;  // what compute waited for its gathers
};

struct StepUnits {
  std::vector<UnitTimes> units;  // in the order in which they are first computed
  std::string first_late;        // whose gather is the first in a step to be late; empty: none is
};

// Of one step of each rank. The first work of a step waits for its gather in any case, so that is not late.
StepUnits step_units(const traces::Trace& trace,
                     const std::map<std::int32_t, traces::Interval>& steps);

}  // namespace foreshard::profiler
