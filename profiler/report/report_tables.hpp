// The time tables of a report.
#pragma once

#include <string>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// Ranks over the whole trace, then the last steps of the fullest one.
std::string times_table(const Analysis& analysis);

// Why ranks did not compute, all together.
std::string gaps_lines(const Analysis& analysis);

// The critical path, collectives that nothing hid, operators of devices and hosts. A kernel has the
// same name in all of them.
std::string work_tables(const Analysis& analysis);

}  // namespace foreshard::profiler
