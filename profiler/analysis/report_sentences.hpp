// The few sentences with which a report begins: what a person should know before any table.
#pragma once

#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// A typical step: the mean over ranks of each one's last step, or of the whole trace where no step
// was recorded.
TimeBreakdown typical_step(const Analysis& analysis);

// The rank with the highest peak; nullptr where there is none.
const RankAnalysis* fullest_rank(const Analysis& analysis);

// Where the time goes, what holds the memory, and what to look at first; the last only where
// something stands out.
std::vector<std::string> report_sentences(const Analysis& analysis);

// "model.layers.0 to 3, model.norm" for names that differ in a number; at most `most` runs.
std::string joined_units(const std::vector<std::string>& units, std::size_t most);

}  // namespace foreshard::profiler
