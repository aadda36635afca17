// The work of a step in rows that both sides have: kernels, each kind of collective, copies.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

enum class LaneKind : std::uint8_t {
  compute,
  all_gather,
  reduce_scatter,
  all_reduce,
  other_communication,
  copies,
  host,  // the host's own arithmetic
  kCount
};

struct ComparedBox {
  traces::Interval time;  // since the step's start
  EventColour colour;
  std::int32_t event = traces::kNone;  // index into Trace::events
};

struct LaneSide {
  std::vector<ComparedBox> boxes;  // by start
  std::int64_t busy_ns = 0;        // length of their union
};

struct LanePair {
  LaneKind kind = LaneKind::compute;
  LaneSide baseline, candidate;
};

// The boxes of one rank in one step, by LaneKind.
std::vector<LaneSide> lane_sides(const traces::Trace& trace, std::int32_t rank, std::int32_t step,
                                 std::int64_t step_start_ns);

// Those of which at least one side has something that can be seen: a ten-thousandth of the busiest.
std::vector<LanePair> lane_pairs(std::vector<LaneSide> baseline, std::vector<LaneSide> candidate);

}  // namespace foreshard::gui
