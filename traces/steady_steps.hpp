// The steps that stand for a run, and how long one takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces {

// The steps that stand for a run: from the third to the last, or the last alone where there are
// fewer (the first creates the optimizer's state, the second warms up). Set-up is not a step, nor is
// one in which memory ran out.
std::vector<std::int32_t> steady_steps(const Trace& trace);

// The median over the steady steps of the longest rank's duration; 0 where no step was recorded.
std::int64_t steady_step_time(const Trace& trace);
// The same had the trace's steps begun and ended at other times.
std::int64_t steady_step_time(const Trace& trace, std::span<const Step> steps);

}  // namespace foreshard::traces
