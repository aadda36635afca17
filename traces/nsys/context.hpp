// Assigns step, phase and FSDP unit to events from the ranges around them; device work takes those of
// the call that launched it. Only for the sources of this folder.
#pragma once

#include "traces/trace.hpp"

namespace foreshard::traces::nsys {

// Expects a sorted trace; adds its steps.
void assign_context(Trace& trace);

}  // namespace foreshard::traces::nsys
