// One step of a rank in two traces, side by side on clocks that start with the step: lanes in pairs, ribbons
// between units, drift, memory, and every matched pair of events. What the canvas needs of millions of events is
// ready here, as it may not go through them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gui/models/comparison/drift.hpp"
#include "gui/models/comparison/operator_pairs.hpp"
#include "gui/models/memory/memory_curve.hpp"
#include "gui/models/session/document.hpp"
#include "gui/models/timeline/row.hpp"

namespace foreshard::gui {

struct StepChoice {
  std::int32_t rank = 0;  // of the baseline
  std::int32_t baseline_step = 0, candidate_step = 0;
  bool operator==(const StepChoice&) const = default;
};

struct StepSide {
  DocumentPtr document;
  std::int32_t rank = 0;
  traces::Interval step;  // on the trace's clock
  std::shared_ptr<const MemoryCurve> memory;

  const traces::Trace& trace() const { return *document->trace; }
  std::int64_t length_ns() const { return step.end_ns - step.start_ns; }
};

// What both sides did of one kind, such as kernels or all-gathers.
struct LanePair {
  struct Side {
    std::vector<std::size_t> rows;  // of the document's lanes
    std::int64_t busy_ns = 0;       // length of the union of its work in the step
  };
  RowKind kind = RowKind::compute;
  Side baseline, candidate;

  const Side& side(bool is_candidate) const { return is_candidate ? candidate : baseline; }
};

// A stretch of a unit and the same one of the other side, both since their step's start.
struct Ribbon {
  traces::Interval baseline, candidate;
  // By which the candidate's is longer.
  std::int64_t difference_ns() const {
    return (candidate.end_ns - candidate.start_ns) - (baseline.end_ns - baseline.start_ns);
  }
  bool operator==(const Ribbon&) const = default;
};

// The pairs of one operator.
struct OperatorPairs {
  PairSpread spread;
  ComparedPair worst;              // whose durations are furthest apart
  std::vector<ComparedPair> seen;  // in the plot
};

struct StepComparison {
  StepChoice choice;
  StepSide baseline, candidate;
  std::vector<LanePair> lanes;  // of which a side has something to be seen, in the order of drawing
  std::vector<Ribbon> ribbons;
  Drift drift;
  std::vector<ComparedPair> pairs;                 // in the order of the baseline's starts
  std::map<std::string, OperatorPairs> operators;  // that have pairs, by name
  PairPlot plot;
  std::vector<ComparedPair> seen;  // in the plot, of all pairs

  const StepSide& side(bool is_candidate) const { return is_candidate ? candidate : baseline; }
  std::int64_t difference_ns() const { return candidate.length_ns() - baseline.length_ns(); }
  const std::string& name(const ComparedPair& pair) const {
    return baseline.trace().strings[pair.name];
  }
  const LanePair* lane(RowKind kind) const;  // null: neither side has one
  // Of an event of either side; null where it has no counterpart.
  const ComparedPair* pair_of(bool is_candidate, std::int32_t event) const;
  // Null where the operator has no pairs.
  const OperatorPairs* pairs_of(const std::string& operator_name) const;

  // Places of pairs, in the order of their events.
  std::vector<std::uint32_t> by_baseline, by_candidate;
};

StepComparison compare_step(const DocumentPtr& baseline, const DocumentPtr& candidate,
                            const StepChoice& choice);

// The steps that a trace has, ascending; {0} where it has none: then everything is one step.
std::vector<std::int32_t> steps_of(const traces::Trace& trace);
// What is compared first, of that rank where the baseline has it, else of its first one: of the steady steps the
// one that takes most nearly as long as the run's steps do, and the same step of the candidate where that is a
// steady one too.
StepChoice first_choice(const Document& baseline, const Document& candidate, std::int32_t rank);

}  // namespace foreshard::gui
