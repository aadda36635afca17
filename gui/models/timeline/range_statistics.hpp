// What happened on a rank in a range of time.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "gui/models/timeline/lane_set.hpp"
#include "profiler/analysis/analysis.hpp"

namespace foreshard::gui {

struct RangeOperator {
  traces::StringId name = 0, phase = 0;
  std::int64_t count = 0;
  std::int64_t ns = 0;     // within the range
  std::int64_t bytes = 0;  // of collectives: that each rank's link carried within the range
  bool is_collective = false;
};

struct RangeCounter {
  QString name, mean, highest;
};

struct RangeStatistics {
  traces::Interval range;
  int rank = 0;
  profiler::TimeBreakdown time;          // of device work, cut at the range's ends
  double share_of_step = 0;              // 0: there is no step around it
  std::vector<RangeOperator> operators;  // of the device, longest first
  std::int64_t allocated_from = 0, allocated_to = 0, reserved_most = 0;
  std::vector<RangeCounter> counters;  // that hold a value in it
  double tokens_per_s = 0;             // of a range that holds whole steps; else 0

  double share(std::int64_t ns) const;  // of the range
  QString sentence() const;             // what bounds it, and what would not help
  QString text(const traces::Trace& trace) const;
};

RangeStatistics range_statistics(const LaneSet& lanes, int rank, traces::Interval range);

}  // namespace foreshard::gui
