// Which recordings are of one run: ranks of one world that were recorded at the same time. A rank
// that comes twice begins another run; where files say no rank, their order does.
#pragma once

#include <cstddef>
#include <vector>

#include "traces/kineto/recording.hpp"

namespace foreshard::traces::kineto {

// Indices of each run's recordings by rank, which every recording has afterwards. Runs by time.
std::vector<std::vector<std::size_t>> runs_of(std::vector<Recording>& recordings);

// One run's ranks as one trace; takes the recordings' traces.
Trace join(std::vector<Recording>& recordings, const std::vector<std::size_t>& run);

}  // namespace foreshard::traces::kineto
