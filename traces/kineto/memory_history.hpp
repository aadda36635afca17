// From the allocator's instants to a trace's memory events, such that the sum of what was allocated
// and freed is at every instant the recorded total.
//
// Memory allocated before the recording is added at its beginning: each block that is freed without
// having been allocated, and the rest in one. Where totals jump, instants are missing; an event of
// the category "not recorded" makes up for them, and they are counted. Before 2022 instants have
// neither totals nor addresses; then levels count from zero. Of a process with several devices the memory
// of the fullest is kept; the others' instants are counted as left out.
#pragma once

#include "traces/kineto/collected.hpp"
#include "traces/meaning/attribution.hpp"

namespace foreshard::traces::kineto {

// `attribution`: with the instants as its moments. In the order of time; their rank is not set. May add to strings, dropped
// and dropped ranges, whose rank is not set either.
std::vector<MemoryEvent> memory_history(Collected& recording, const Attribution& attribution);

}  // namespace foreshard::traces::kineto
