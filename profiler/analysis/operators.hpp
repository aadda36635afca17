// Total and self time of each operator, over all ranks.
#pragma once

#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// Device work and computation on the host; in imported recordings, whose operators run on the
// host too, also those and the calls of the runtime. Costliest first.
std::vector<OperatorTotal> operator_totals(const traces::Trace& trace);

}  // namespace foreshard::profiler
