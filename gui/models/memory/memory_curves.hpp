// The memory curves of traces, each made once: the timeline, the memory view and the inspector show
// the same curve of a rank, which is large.
#pragma once

#include <memory>

#include "gui/models/memory/memory_curve.hpp"

namespace foreshard::gui {

// That of the rank. Whoever asks while it is being made waits; it goes with the last who has it.
// Takes time, so not on the window's thread. Safe on several threads.
std::shared_ptr<const MemoryCurve> memory_curve(const std::shared_ptr<const traces::Trace>& trace,
                                                int rank);

}  // namespace foreshard::gui
