// The steps that stand for a run, and how long one takes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces {

// The steps that stand for a run: from the third to the last, or the last alone where there are
// fewer (the first creates the optimizer's state, the second warms up). Set-up is not a step, nor is
// one in which memory ran out.
std::vector<std::int32_t> steady_steps(const Trace& trace);

// When a rank's device was done with what a step had issued, by rank and step. Steps that issued nothing
// are not in it.
using DeviceEnds = std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>;
DeviceEnds device_ends(const Trace& trace);

// A step of one rank's device: from the end of its work for the step before, or from the step's own beginning
// where there is none, to the end of its work for this one.
struct DeviceStep {
  std::int32_t rank = 0, step = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};
// By rank, in the order of time.
std::vector<DeviceStep> device_steps(std::span<const Step> steps, const DeviceEnds& ends);

// The ranks whose device lags behind their host: whose work for a step ends later than the step by more than a
// twentieth of it. Their steps are those of their device.
std::set<std::int32_t> lagging_ranks(std::span<const Step> steps, const DeviceEnds& ends);

// The median over the steady steps of the longest rank's duration; 0 where no step was recorded. A step takes
// as long as on its host, or as on its device where that lags behind the host.
std::int64_t steady_step_time(const Trace& trace);
// The same had the trace's steps begun and ended at other times.
std::int64_t steady_step_time(const Trace& trace, std::span<const Step> steps,
                              const DeviceEnds& ends);

}  // namespace foreshard::traces
