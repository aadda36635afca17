// Time breakdown of a rank, by Holistic Trace Analysis' definitions (see analysis.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "traces/intervals.hpp"

namespace foreshard::profiler {

// Collects the device events of one rank, or of one step of it.
class BreakdownBuilder {
 public:
  // Events that are not device work are ignored.
  void add(const traces::Event& event);
  TimeBreakdown build() const;
  // Of that stretch alone, which is the span.
  TimeBreakdown build(const traces::Interval& within) const;

 private:
  std::vector<traces::Interval> compute_, communication_, memory_;
};

}  // namespace foreshard::profiler
