// What explains the difference of two traces: operators, worst first, as profiler::compare has
// them.
#pragma once

#include <QString>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gui/models/comparison/comparison_words.hpp"
#include "profiler/analysis/comparison.hpp"

namespace foreshard::gui {

struct Cause {
  std::string name;      // the operator's, in full
  QString label;         // shortened, told apart from others
  std::string category;  // "compute", "communication", ...
  bool is_on_device = false;
  double baseline_count = 0, candidate_count = 0;  // of events in a steady step of all ranks
  std::int64_t baseline_ns = 0, candidate_ns = 0;  // of them together
  std::set<CostSource> cost_sources{};             // of the candidate, where it is a prediction

  std::int64_t difference_ns() const { return candidate_ns - baseline_ns; }
};

// Of matched events; where none match by key, of all operators by their names.
std::vector<Cause> causes_of(const profiler::Comparison& comparison);

// What a table shows of them: kernels and collectives, or what the host did, as the time of one is within that of
// the other; without those whose difference its digits cannot show.
struct ShownCauses {
  ShownCauses() = default;
  ShownCauses(const std::vector<Cause>& all, bool are_on_device);

  std::vector<Cause> causes;
  TimeScale times{0}, differences{0};
};

}  // namespace foreshard::gui
