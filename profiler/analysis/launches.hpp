// Which call of a host thread launched which work of the device, and how far the host was ahead.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::profiler {

// The launching call of every device event, as indices into Trace::events. Recordings of others join
// them by correlation, our own by step and instruction.
class Launches {
 public:
  static constexpr std::int32_t kUnknown = -1;

  explicit Launches(const traces::Trace& trace);
  std::int32_t of(std::size_t event) const { return launch_[event]; }

 private:
  std::vector<std::int32_t> launch_;
};

// Of the device events of one rank whose launch is known.
struct LaunchStatistics {
  std::int64_t launches = 0;
  std::int64_t unknown = 0;        // device events whose launch is not in the trace
  std::int64_t call_ns = 0;        // spent in launching calls, together
  std::int64_t delay_ns = 0;       // from the call's start to the work's start, together
  std::int64_t longest_queue = 0;  // launched and not yet begun at one moment, all streams
};

std::map<std::int32_t, LaunchStatistics> launch_statistics(const traces::Trace& trace,
                                                           const Launches& launches);

}  // namespace foreshard::profiler
