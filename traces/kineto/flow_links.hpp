// Links from launches to what they launched by the recording's flow events ("ac2g"), for recorders
// that write them in place of correlation numbers, as PyTorch on ROCm did.
#pragma once

#include <cstdint>

#include "traces/kineto/lane_table.hpp"

namespace foreshard::traces::kineto {

struct Collected;

// One end of a flow: the event of that lane which begins at that moment.
struct FlowEnd {
  std::int64_t flow = 0;
  std::int64_t time_ns = 0;
  bool is_launch = false;  // otherwise what was launched
  LaneTable::Location place{};
  std::int32_t lane = kNone;  // of the place; none where nothing else is of it
};

// Sets the correlations that are missing. The events of each lane are sorted.
void link_by_flows(Collected& recording);

}  // namespace foreshard::traces::kineto
