// What a host thread was in at each moment: ranges of the script, operators, calls of the runtime, one around the
// other.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

// Between two changes. Events by index, traces::kNone for none.
struct HostActivity {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int32_t innermost = traces::kNone;  // of all that were open
  std::int32_t range = traces::kNone;      // the innermost range
  std::int32_t op = traces::kNone;         // the innermost operator
  bool waits = false;                      // for the device
};

// Of a lane within an interval, by time; moments at which nothing was open are left out. O(n log n).
std::vector<HostActivity> host_activity(const traces::Trace& trace, std::int32_t lane,
                                        const traces::Interval& within);

}  // namespace foreshard::profiler
