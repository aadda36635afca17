#include "gui/models/timeline/step_figures.hpp"

#include <algorithm>

#include "models/plan/plan.hpp"
#include "traces/metadata.hpp"

namespace foreshard::gui {

StepFigures step_figures(const traces::Trace& trace, const profiler::Analysis& analysis) {
  StepFigures figures;
  figures.step_ns = analysis.step_time_ns;
  bool communicates = false;
  for (const profiler::RankAnalysis& rank : analysis.ranks) {
    figures.has_device |= rank.time.device_events > 0;
    communicates |= rank.time.communication_ns > 0;
  }
  figures.lacks_communication = !communicates && traces::integer(trace.metadata, "ranks", 1) > 1;
  if (!analysis.steady_steps.empty()) figures.step = analysis.steady_steps.back();
  for (const profiler::RankAnalysis& rank : analysis.ranks) {
    for (const profiler::StepAnalysis& step : rank.steps) {
      if (figures.step_ns > 0 && step.step == figures.step) {
        figures.exposed_ns = std::max(figures.exposed_ns, step.time.exposed_communication_ns);
      }
    }
    if (figures.step_ns == 0 && rank.time.span_ns > figures.span_ns) {
      figures.span_ns = rank.time.span_ns;
      figures.busy_ns = rank.time.span_ns - rank.time.idle_ns;
      figures.exposed_ns = rank.time.exposed_communication_ns;
    }
    figures.peak_reserved = std::max(figures.peak_reserved, rank.peak.reserved_bytes);
    if (rank.peak.allocated_bytes > figures.peak_allocated) {
      figures.peak_allocated = rank.peak.allocated_bytes;
      figures.peak_ns = rank.peak.time_ns;
    }
  }
  const auto recorded = [&](const char* key) { return traces::integer(trace.metadata, key, 0); };
  figures.band = {recorded("step_time_low_ns"), recorded("step_time_high_ns")};
  figures.mfu = traces::number(trace.metadata, "mfu", 0);
  figures.capacity = recorded("device_memory_bytes");
  const auto text = trace.metadata.find("plan");
  if (figures.step_ns > 0 && text != trace.metadata.end() && !text->second.empty()) {
    if (const Result<Plan> plan = parse_plan(text->second, "plan")) {
      const std::int64_t ranks = traces::integer(trace.metadata, "ranks", 1);
      figures.tokens_per_s =
          static_cast<double>(plan->tokens() * plan->batch.accumulation * ranks) /
          (static_cast<double>(figures.step_ns) * 1e-9);
    }
  }
  return figures;
}

}  // namespace foreshard::gui
