// The memory section of a report, for one rank.
#pragma once

#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// Those whose names differ in a layer's number as one, the largest first.
std::vector<Owner> grouped_owners(const std::vector<Owner>& owners);

// Lines over time, with the limits of the steps below.
std::string memory_over_time(const RankAnalysis& rank);

// Beside each other: by category, and by who asked for it.
std::string memory_at_the_peak(const RankAnalysis& rank);

}  // namespace foreshard::profiler
