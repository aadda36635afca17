// Groups recordings into runs: ranks of one world that were recorded at the same time. A rank that
// occurs twice begins another run; files without a rank are numbered in order.
#pragma once

#include <cstddef>
#include <vector>

#include "traces/kineto/recording.hpp"

namespace foreshard::traces::kineto {

// Indices of each run's recordings by rank, which every recording has afterwards. Runs by time.
std::vector<std::vector<std::size_t>> group_by_run(std::vector<Recording>& recordings);

// One run's ranks as one trace; takes the recordings' traces.
Trace merge_ranks(std::vector<Recording>& recordings, const std::vector<std::size_t>& run);

}  // namespace foreshard::traces::kineto
