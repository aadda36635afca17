// Warnings and notes about the recording that a report is based on.
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

// "Rank 0 ran out of device memory: ...", of the first rank that did; empty where none did.
std::string out_of_memory_sentence(const Analysis& analysis);

// All of these in the order in which they are said, and what else a report says in its sentences: for
// the JSON.
std::vector<std::string> recording_warnings(const Analysis& analysis);

// "incomplete: nothing is missing before 2.000 ms, what came later may be"
std::string incomplete_until(std::int64_t ns);

}  // namespace foreshard::profiler
