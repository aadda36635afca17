// The phases of a step above a rank's memory: in the device's time those of its kernels, in the
// others those of the requests for memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/models/memory/memory_curve.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

struct PhaseSpan {
  std::int64_t start = 0, end = 0;  // positions of the clock
  std::string phase;
  std::int32_t step = 0;
  bool operator==(const PhaseSpan&) const = default;
};

std::vector<PhaseSpan> memory_phases(const traces::Trace& trace, const MemoryCurve& curve,
                                     MemoryClock clock);

}  // namespace foreshard::gui
