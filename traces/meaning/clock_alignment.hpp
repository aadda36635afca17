// Clocks of different hosts differ, by milliseconds where nobody synchronises them. A collective ends on all of its
// ranks at nearly the same time: what its ends are apart, again and again, is what the clocks are.
#pragma once

#include <cstdint>
#include <map>

#include "traces/trace.hpp"

namespace foreshard::traces {

// Moves the times of ranks whose clocks are more than 0.2 ms apart from the others', as far as enough
// collectives agree. How many nanoseconds later each of them stands now than beside the lowest rank before;
// empty where nothing was moved.
std::map<std::int32_t, std::int64_t> align_clocks(Trace& trace);

}  // namespace foreshard::traces
