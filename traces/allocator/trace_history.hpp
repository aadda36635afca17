// The allocation history of a foreshard trace, recorded or predicted, for replay. Other traces lack
// the segments from the start of the run, which a replay needs.
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
