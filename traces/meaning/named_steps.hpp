// The steps of a rank from the ranges that name them, "ProfilerStep#3" or "train_step 3", of any
// profiler.
//
// Names may occur again, in each epoch or cycle, and may count from 0, which is no step in a trace.
// The number of a step is therefore the one of its name where that is larger than the number of the step
// before it, and otherwise one more than that; its label is the name. What lies within a step is none of
// its own. Where PyTorch's profiler has named steps, no other names count; where the program has, not those
// that `foreshard profile` has marked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces {

// `named`: a step for each range, with the number of its name. Returns the steps by time.
std::vector<Step> steps_of_names(std::vector<Step> named, const Strings& strings);

// The step whose time this is, 0 outside of all. `steps`: of one rank, by time.
std::int32_t step_at(std::span<const Step> steps, std::int64_t time_ns);

}  // namespace foreshard::traces
