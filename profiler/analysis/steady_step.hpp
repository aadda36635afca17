// Where the time of a steady step goes, in full: from the end of the device's work for the step before to the end
// of its work for this one, idle time with its causes.
//
// What the device waited for is said in the words of compute_gaps.hpp and, where its next work was launched too
// late, by what the host was in meanwhile:
//
//   data_loading   a range of a data loader
//   checkpoint, evaluation, logging   a range of the script whose name says so
//   annotation     another range of the script, in which no operator ran
//   host_blocked   a wait for the device, with the operator that did it
//   launch_bound   anything else, with the call or the operator that it was in
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/compute_gaps.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

// Of ranks' gaps, the largest first; `gaps` are within the steps that stand for them.
std::vector<IdleCause> idle_causes(const traces::Trace& trace, const std::vector<IdleGap>& gaps);

// By which of its parts a step takes longer than another: the cause of idle time, or the kind of work.
IdleCause largest_difference(const SteadyStep& step, const SteadyStep& other);

}  // namespace foreshard::profiler
