// What share of a prediction's work has measured, fitted or modelled costs.
#pragma once

#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// Of all ranks, best source first; none of a measured trace.
std::vector<CostSourceTotal> cost_source_totals(const traces::Trace& trace);

}  // namespace foreshard::profiler
