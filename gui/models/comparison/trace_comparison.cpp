#include "gui/models/comparison/trace_comparison.hpp"

#include <utility>

namespace foreshard::gui {

TraceComparison compare_traces(const TracePtr& baseline, const TracePtr& candidate,
                               const std::optional<StepChoice>& choice,
                               std::shared_ptr<const profiler::Comparison> whole) {
  TraceComparison result;
  if (whole == nullptr) {
    whole = std::make_shared<profiler::Comparison>(profiler::compare(*baseline, *candidate));
  }
  result.step =
      compare_step(baseline, candidate, choice.value_or(first_choice(*baseline, *candidate)));
  result.causes = causes_of(*whole);
  result.waterfall = waterfall_of(*whole);
  result.band = step_time_band(candidate->metadata);
  result.sides = side_words(whole->has_prediction);
  result.words = words_of(*whole, result.step, result.band);
  result.whole = std::move(whole);
  return result;
}

}  // namespace foreshard::gui
