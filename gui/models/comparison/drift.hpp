// Drift: by how much the candidate is behind the baseline after each instruction, on clocks that
// start with the step. It rises where the candidate takes longer, and ends at the difference of the
// steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/matched_events.hpp"
#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

struct DriftPoint {
  std::int64_t at_ns = 0;     // on the baseline's clock
  std::int64_t drift_ns = 0;  // candidate minus baseline
  bool operator==(const DriftPoint&) const = default;
};

// What a phase adds; over all phases this is the whole drift.
struct PhaseDrift {
  std::string phase;      // empty: after the last kernel
  traces::Interval time;  // on the baseline's clock
  std::int64_t drift_ns = 0;
};

struct Drift {
  std::vector<DriftPoint> points;  // in the order of time, from {0, 0} on
  std::vector<PhaseDrift> phases;
};

// `baseline_step` and `candidate_step` are the moments of the steps.
Drift drift_of(const traces::Trace& baseline, const traces::Interval& baseline_step,
               const traces::Trace& candidate, const traces::Interval& candidate_step,
               const std::vector<profiler::EventMatch>& pairs);

}  // namespace foreshard::gui
