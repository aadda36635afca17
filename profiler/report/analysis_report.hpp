// The report of `foreshard inspect`, as text and JSON.
#pragma once

#include <string>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// The object of `foreshard inspect --json`.
std::string to_json(const Analysis& analysis);

// One screen for a person; what matters most comes first, in sentences.
std::string report_text(const Analysis& analysis);

}  // namespace foreshard::profiler
