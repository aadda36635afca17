// Gives events their step, phase and FSDP unit from the ranges around them; work on a device has
// those of the call that launched it. Only for the sources of this folder.
#pragma once

#include "traces/trace.hpp"

namespace foreshard::traces::nsys {

// Expects a sorted trace; adds its steps.
void assign_phases(Trace& trace);

}  // namespace foreshard::traces::nsys
