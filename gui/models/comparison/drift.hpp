// Drift: by how much the candidate is behind the baseline after each instruction, on clocks that
// start with the step. It rises where the candidate takes longer, and ends at the difference of the
// steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/models/memory/highest_of.hpp"
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

class Drift {
 public:
  Drift() = default;
  // `baseline_step` and `candidate_step` are the moments of the steps.
  Drift(const traces::Trace& baseline, const traces::Interval& baseline_step,
        const traces::Trace& candidate, const traces::Interval& candidate_step,
        const std::vector<profiler::EventMatch>& pairs);

  // In the order of time, from {0, 0} to the ends of the steps.
  std::size_t size() const { return at_.size(); }
  DriftPoint point(std::size_t n) const { return {at_[n], drift_[n]}; }
  const std::vector<PhaseDrift>& phases() const { return phases_; }
  std::int64_t end_ns() const { return drift_.back(); }
  std::int64_t lowest_ns() const { return drift_[lowest_.find(negated_, 0, size())]; }
  std::int64_t highest_ns() const { return drift_[highest_.find(drift_, 0, size())]; }

  // What is seen of it in a window, with the nearest point on either side: of those within one column
  // the first, the lowest, the highest and the last.
  std::vector<DriftPoint> seen(traces::Interval window, double ns_per_column) const;

 private:
  void add(std::int64_t at, std::int64_t other, const std::string& phase);

  std::vector<std::int64_t> at_, drift_, negated_;
  HighestOf highest_, lowest_;
  std::vector<PhaseDrift> phases_;
};

}  // namespace foreshard::gui
