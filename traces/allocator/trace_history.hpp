// The allocation history that stands in a trace of ours, recorded or predicted, to be replayed. Other
// traces lack what a replay needs: the segments from the beginning on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "traces/allocator/allocator_history.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// Ranks whose device memory was recorded.
std::vector<int> ranks_with_memory(const Trace& trace);

// `file` is used in messages only.
Result<AllocatorHistory> history_of(const Trace& trace, int rank, const std::string& file);

}  // namespace foreshard::traces
