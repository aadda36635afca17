// What a recording's flow events link: launches to what they launched ("ac2g"), for recorders that write flows in
// place of correlation numbers, as PyTorch on ROCm did, and operators to their backward ("fwdbwd").
#pragma once

#include <cstdint>

#include "traces/kineto/lane_table.hpp"

namespace foreshard::traces::kineto {

struct Collected;

// One end of a flow: the event of that lane which begins at that moment.
struct FlowEnd {
  std::int64_t flow = 0;
  std::int64_t time_ns = 0;
  enum class Kind : std::uint8_t { launch, launched, forward, backward };
  Kind kind = Kind::launch;
  LaneTable::Location place{};
  std::int32_t lane = kNone;  // of the place; none where nothing else is of it

  bool is_on_device() const { return kind == Kind::launched; }
};

// Sets the correlations that are missing, and EventLinks::forward. The events of each lane are sorted.
void link_by_flows(Collected& recording);

}  // namespace foreshard::traces::kineto
