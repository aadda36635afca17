// The key figures of a step, as the strip above the timeline shows them.
#pragma once

#include <cstdint>
#include <optional>

#include "profiler/analysis/analysis.hpp"
#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

struct StepFigures {
  std::int32_t step = traces::kNone;  // the last steady one
  std::int64_t step_ns = 0;           // 0: no step was recorded
  traces::Interval band;              // of a prediction's step time, in ns; empty: unknown
  double tokens_per_s = 0;            // 0: unknown
  double mfu = 0;                     // of a prediction; 0: unknown
  std::int64_t exposed_ns = 0;        // of the rank with most, in that step; else in the span
  bool has_device = false;            // its work was recorded, or predicted
  bool lacks_communication = false;   // of a run of several ranks, of which a recorder left it out
  // Of a recording without steps: from its first device event to its last, on the rank where that is
  // longest, and the time within that its device works; 0 where it recorded no device.
  std::int64_t span_ns = 0, busy_ns = 0;
  std::int64_t peak_allocated = 0, peak_reserved = 0;
  std::int64_t capacity = 0;            // bytes of each rank's device; 0: unknown
  std::optional<std::int64_t> peak_ns;  // when it was reached, from the trace's origin
};

StepFigures step_figures(const traces::Trace& trace, const profiler::Analysis& analysis);

}  // namespace foreshard::gui
