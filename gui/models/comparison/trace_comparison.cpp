#include "gui/models/comparison/trace_comparison.hpp"

#include <utility>

namespace foreshard::gui {

TraceComparison compare_traces(const DocumentPtr& baseline, const DocumentPtr& candidate,
                               const StepChoice& choice,
                               const std::shared_ptr<const TraceComparison>& known) {
  TraceComparison result;
  result.whole =
      known != nullptr
          ? known->whole
          : std::make_shared<profiler::Comparison>(profiler::compare(
                *baseline->trace, *baseline->analysis, *candidate->trace, *candidate->analysis));
  result.step = compare_step(baseline, candidate, choice);
  result.causes = causes_of(*result.whole);
  result.waterfall = waterfall_of(*result.whole);
  result.sides = side_words(*result.whole);
  if (result.sides.is_prediction) result.band = step_time_band(candidate->trace->metadata);
  result.words = words_of(*result.whole, result.band);
  return result;
}

}  // namespace foreshard::gui
