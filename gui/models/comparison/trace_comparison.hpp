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

struct ComparedTrace {
  TracePtr trace;
  std::shared_ptr<const profiler::Analysis> analysis;  // of the trace
};

struct TraceComparison {
  std::shared_ptr<const profiler::Comparison> whole;
  StepComparison step;
  std::vector<Cause> causes;
  std::vector<WaterfallBar> waterfall;
  std::optional<traces::Interval> band;  // of a predicted step's length
  SideWords sides;
  ComparisonWords words;

  // Whether a step of that length is within the band; there is one.
  bool band_holds(std::int64_t length_ns) const {
    return length_ns >= band->start_ns && length_ns <= band->end_ns;
  }
};

// Of the first choice of steps where none is given. `known`: another choice of the same traces, whose
// parts are taken over.
TraceComparison compare_traces(const ComparedTrace& baseline, const ComparedTrace& candidate,
                               const std::optional<StepChoice>& choice,
                               const std::shared_ptr<const TraceComparison>& known = nullptr);

}  // namespace foreshard::gui
