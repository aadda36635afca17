// All that the view "Compare" shows of two traces. Computing it takes seconds for large ones, so
// not on the window's thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/models/comparison/causes.hpp"
#include "gui/models/comparison/comparison_words.hpp"
#include "gui/models/comparison/step_comparison.hpp"
#include "gui/models/comparison/waterfall.hpp"

namespace foreshard::gui {

struct TraceComparison {
  std::shared_ptr<const profiler::Comparison> whole;
  StepComparison step;
  std::vector<Cause> causes;
  std::vector<WaterfallBar> waterfall;
  std::optional<traces::Interval> band;  // of a predicted step's length, beside a measured one
  SideWords sides;
  ComparisonWords words;

  bool are_steps_comparable() const { return whole->step_time_error >= 0; }
  // Whether a step of that length is within the band; there is one.
  bool band_holds(std::int64_t length_ns) const {
    return length_ns >= band->start_ns && length_ns <= band->end_ns;
  }
};

// `known`: another choice of the same traces, whose parts are taken over.
TraceComparison compare_traces(const DocumentPtr& baseline, const DocumentPtr& candidate,
                               const StepChoice& choice,
                               const std::shared_ptr<const TraceComparison>& known = nullptr);

}  // namespace foreshard::gui
