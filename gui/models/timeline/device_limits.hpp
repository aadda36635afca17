// What the device of a rank can do at best, by the hardware catalogue: what achieved rates are
// relative to.
#pragma once

#include <optional>

#include "models/hardware/hardware.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

// The device that the trace names for the rank, else the machine that it was predicted for; nothing
// where the catalogue has neither.
std::optional<Machine> machine_of(const traces::Trace& trace, int rank);

}  // namespace foreshard::gui
