// How long each FSDP unit's parameters are unsharded: from its all-gather to their being freed, and
// within it the time that kernels of the unit run.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

struct GatheredSpan {
  traces::Interval gathering;  // the all-gather
  traces::Interval held;       // from its begin to the free
  traces::Interval used;       // from the unit's first kernel to its last
};

struct GatheredUnit {
  traces::StringId unit = 0;
  std::int64_t bytes = 0;  // that its all-gather delivers; 0: unknown
  std::vector<GatheredSpan> spans;
};

struct GatheredUnits {
  std::vector<GatheredUnit> units;  // in the order of their first all-gather
  std::size_t most = 0;             // held at once
  std::int64_t most_bytes = 0;      // that the largest set of them takes
};

// Of a rank. Parameters count as freed once the unit's last kernel before its next all-gather, or
// before its gradients are reduced, is over: that is when FSDP reshards them.
GatheredUnits gathered_units(const traces::Trace& trace, int rank);

}  // namespace foreshard::gui
