// What a reader of a report must know of the recording itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// What makes the figures those of another run than the one that was meant: to be said first.
std::vector<std::string> report_alarms(const Analysis& analysis);

// What is not in the trace and does not change what is: to be said last.
std::vector<std::string> report_notes(const Analysis& analysis);

}  // namespace foreshard::profiler
