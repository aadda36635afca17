// The report of `foreshard inspect`, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// The object of `foreshard inspect --json`.
std::string to_json(const Analysis& analysis);

// Of several, an object with the list `recordings`.
struct NamedAnalysis {
  std::string file;
  Analysis analysis;
};
std::string to_json(const std::vector<NamedAnalysis>& recordings);

// One screen for a person; what matters most comes first, in sentences.
std::string report_text(const Analysis& analysis);
// One after the other, each under the name of its file.
std::string report_text(const std::vector<NamedAnalysis>& recordings);

}  // namespace foreshard::profiler
