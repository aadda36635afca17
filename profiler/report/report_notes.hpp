// Warnings and notes about the recording that a report is based on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// Warnings that affect how the whole report is to be read; printed first.
std::vector<std::string> report_alarms(const Analysis& analysis);

// Notes on what is missing from the trace without affecting the rest; printed last.
std::vector<std::string> report_notes(const Analysis& analysis);

// "Rank 0 ran out of device memory: ...", of the first rank that did; empty where none did.
std::string out_of_memory_sentence(const Analysis& analysis);

// All of these in the order in which they appear, and what else a report has in sentences: for
// the JSON.
std::vector<std::string> recording_warnings(const Analysis& analysis);

// "incomplete: complete up to 2.000 ms, later records may be missing"
std::string incomplete_until(std::int64_t ns);

}  // namespace foreshard::profiler
