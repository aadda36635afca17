// When a rank was at which FSDP unit within one step, on a clock that starts with the step; and the
// ribbons that join a unit of one step to the same unit of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/matched_events.hpp"
#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

struct UnitSpan {
  std::string unit;  // the phase where a stretch belongs to no unit
  std::string phase;
  traces::Interval time;  // since the step's start
  double depth = -1;      // 0 to 1 among the units, for its colour; -1: the root, or no unit
  bool is_odd = false;
  std::vector<std::int32_t> events;  // its kernels, indices into Trace::events
  bool operator==(const UnitSpan&) const = default;
};

// A span lasts from the first kernel of a unit to the last one before another unit's. The optimizer
// is one span, whichever units' parameters it updates.
std::vector<UnitSpan> unit_spans(const traces::Trace& trace, std::int32_t rank, std::int32_t step,
                                 std::int64_t step_start_ns);

struct Ribbon {
  std::size_t baseline = 0, candidate = 0;
  std::int64_t difference_ns = 0;  // by which the candidate's is longer
  bool operator==(const Ribbon&) const = default;
};

// Joins two spans that have more matched kernels in common than either has with any other span.
std::vector<Ribbon> ribbons(const std::vector<UnitSpan>& baseline,
                            const std::vector<UnitSpan>& candidate,
                            const std::vector<profiler::EventMatch>& pairs);

}  // namespace foreshard::gui
