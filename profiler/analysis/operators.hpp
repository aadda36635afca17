// What each operator cost, over all ranks.
#pragma once

#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// Work of devices and the host's own arithmetic; in recordings of others, whose operators run on the
// host too, also those and the calls of the runtime. Costliest first.
std::vector<OperatorTotal> operator_totals(const traces::Trace& trace);

}  // namespace foreshard::profiler
