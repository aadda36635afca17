// How the pairs of one operator depart from equality, and what that says. Pairs that are parallel
// to the diagonal of a log-log plot are all off by one factor: the machine was faster or slower.
// Pairs that fan out are off by more the longer they take: the formula of the operator is off.
#pragma once

#include <QString>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "profiler/analysis/matched_events.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

// Two events that are the same instruction.
struct ComparedPair {
  profiler::EventMatch events;
  std::int64_t baseline_ns = 0, candidate_ns = 0;
  traces::StringId name = 0;  // of the baseline's strings
  EventColour colour;

  std::int64_t difference_ns() const { return candidate_ns - baseline_ns; }
};

struct PairSpread {
  std::size_t pairs = 0;
  double factor = 1;  // candidate over baseline, the geometric mean
  double spread = 0;  // standard deviation of the logarithm of that ratio
  double slope = 0;   // of that logarithm over that of the baseline's duration
  // How it departs, told from the three above.
  enum class Shape : std::uint8_t { none, equal, parallel, fanning, scattered } shape = Shape::none;
};

// Pairs of one operator; those of which a side took no time do not count.
PairSpread pair_spread(const std::vector<ComparedPair>& pairs);

// A sentence about it.
QString why_sentence(const PairSpread& spread, bool is_prediction);

// The square plot of durations on both sides, in logarithms: what it reaches from and to, and of the pairs at
// one place of its grid the first, as no eye can tell the others.
class PairPlot {
 public:
  explicit PairPlot(const std::vector<ComparedPair>& pairs);
  PairPlot() : PairPlot(std::vector<ComparedPair>()) {}

  // From 0 at the shortest to 1 at the longest duration.
  double share(std::int64_t ns) const;
  double lowest() const { return lowest_; }  // logarithms of nanoseconds, base 10
  double highest() const { return highest_; }
  std::vector<ComparedPair> seen(const std::vector<ComparedPair>& pairs) const;

 private:
  double lowest_ = 0, highest_ = 0;
};

}  // namespace foreshard::gui
