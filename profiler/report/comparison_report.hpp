// The report of `foreshard compare`, as text and JSON.
#pragma once

#include <string>

#include "profiler/analysis/comparison.hpp"

namespace foreshard::profiler {

// The object of `foreshard compare --json`.
std::string to_json(const Comparison& comparison);

std::string report_text(const Comparison& comparison);

}  // namespace foreshard::profiler
