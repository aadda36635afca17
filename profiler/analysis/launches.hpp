// Launch costs of the hosts, and how far the hosts ran ahead of their devices.
#pragma once

#include <cstdint>
#include <map>

#include "traces/meaning/launches.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

using traces::Launches;

// Of calls of one rank that launched device events which are known.
struct LaunchStatistics {
  std::int64_t launches = 0;       // calls, however much each has launched
  std::int64_t unknown = 0;        // device events whose launch is not in the trace
  std::int64_t call_ns = 0;        // spent in launching calls, together
  std::int64_t delay_ns = 0;       // from a call's start to that of its first work, together
  std::int64_t longest_queue = 0;  // launched and not yet begun at one moment, all streams
};

std::map<std::int32_t, LaunchStatistics> launch_statistics(const traces::Trace& trace,
                                                           const Launches& launches);

}  // namespace foreshard::profiler
