// How fast the host of a recording of PyTorch is: how long operators and hooks that launch nothing took
// there, beside the same as the catalogue's host was recorded (models/hardware/host_times.hpp). A short
// one of each counts, its lower decile, as most of what disturbs a host makes it slower for a while. Both
// are as the profiler records them, so that its own share of them cancels.
#pragma once

#include <optional>
#include <vector>

#include "simulator/costs/cost_table.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

struct RunSamples;

// Nothing where too few were recorded.
std::optional<RecordedHost> recorded_host(const traces::Trace& trace);

// Of several recordings, each as far as it shows it.
std::optional<RecordedHost> host_of_all(const std::vector<const RunSamples*>& runs);

}  // namespace foreshard::simulator
