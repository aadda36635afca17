#include "gui/models/comparison/trace_comparison.hpp"

#include <utility>

namespace foreshard::gui {

TraceComparison compare_traces(const ComparedTrace& baseline, const ComparedTrace& candidate,
                               const std::optional<StepChoice>& choice,
                               const std::shared_ptr<const TraceComparison>& known) {
  TraceComparison result;
  result.whole =
      known != nullptr
          ? known->whole
          : std::make_shared<profiler::Comparison>(profiler::compare(
                *baseline.trace, *baseline.analysis, *candidate.trace, *candidate.analysis));
  const StepChoice chosen = choice ? *choice : first_choice(*baseline.trace, *candidate.trace);
  result.step = compare_step(baseline.trace, candidate.trace, chosen);
  result.causes = causes_of(*result.whole);
  result.waterfall = waterfall_of(*result.whole);
  result.band = step_time_band(candidate.trace->metadata);
  result.sides = side_words(result.whole->has_prediction);
  result.words = words_of(*result.whole, result.band);
  return result;
}

}  // namespace foreshard::gui
