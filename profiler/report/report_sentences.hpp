// The summary at the top of a report.
#pragma once

#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// A steady step's time, or the whole trace's where no step is known whole; mean of the ranks that have device
// work.
TimeBreakdown typical_step(const Analysis& analysis);

// The rank with the highest peak; nullptr where there is none.
const RankAnalysis* fullest_rank(const Analysis& analysis);

// That memory ran out, where the time goes, what to look at first, what holds the memory, who keeps
// the others waiting: of these what the trace shows.
std::vector<std::string> report_sentences(const Analysis& analysis);

}  // namespace foreshard::profiler
