// One step of a rank in two traces, side by side on clocks that start with the step: units with the
// ribbons between them, drift, lanes in pairs, memory, and every matched pair of events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/models/comparison/drift.hpp"
#include "gui/models/comparison/lane_pairs.hpp"
#include "gui/models/comparison/unit_spans.hpp"
#include "gui/models/memory/memory_curve.hpp"
#include "profiler/analysis/matched_events.hpp"

namespace foreshard::gui {

using TracePtr = std::shared_ptr<const traces::Trace>;

struct StepChoice {
  std::int32_t rank = 0;  // of the baseline
  std::int32_t baseline_step = 0, candidate_step = 0;
  bool operator==(const StepChoice&) const = default;
};

struct StepSide {
  TracePtr trace;
  std::int32_t rank = 0;
  traces::Interval step;  // on the trace's clock
  std::vector<UnitSpan> units;
  std::shared_ptr<const MemoryCurve> memory;

  std::int64_t length_ns() const { return step.end_ns - step.start_ns; }
};

// Two events that are the same instruction.
struct ComparedPair {
  profiler::EventMatch events;
  std::int64_t baseline_ns = 0, candidate_ns = 0;
  std::string name;
  EventColour colour;
};

struct StepComparison {
  StepChoice choice;
  StepSide baseline, candidate;
  std::vector<Ribbon> ribbons;
  Drift drift;
  std::vector<LanePair> lanes;
  std::vector<ComparedPair> pairs;  // in the order of the baseline's starts

  std::int64_t difference_ns() const { return candidate.length_ns() - baseline.length_ns(); }
  // Of an event of either side; null where it has no counterpart.
  const ComparedPair* pair_of(bool is_candidate, std::int32_t event) const;
  // That of an operator whose two durations are furthest apart; null where it has none.
  const ComparedPair* worst_pair(const std::string& name) const;
};

StepComparison compare_step(const TracePtr& baseline, const TracePtr& candidate,
                            const StepChoice& choice);

// The steps that a trace has, ascending; {0} where it has none: then everything is one step.
std::vector<std::int32_t> steps_of(const traces::Trace& trace);
// What is compared first, of the baseline's first rank: the steady step that stands best for all,
// and the same step of the candidate where that is a steady one too.
StepChoice first_choice(const traces::Trace& baseline, const traces::Trace& candidate);

}  // namespace foreshard::gui
