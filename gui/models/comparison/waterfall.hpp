// From the baseline's step to the candidate's in a few parts that add up: families of operators,
// communication that nothing hides, idle time, and the rest.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "profiler/analysis/comparison.hpp"

namespace foreshard::gui {

struct WaterfallBar {
  QString label;
  std::int64_t from_ns = 0, to_ns = 0;  // the whole step's begin at 0
  bool is_total = false;

  std::int64_t difference_ns() const { return to_ns - from_ns; }
};

// The first bar is the baseline, the last the candidate; each of those between begins where the one
// before ends. Empty where one of the traces has no steps.
std::vector<WaterfallBar> waterfall_of(const profiler::Comparison& comparison);

}  // namespace foreshard::gui
