// Steps that begin with an idle device, and so take the same time whatever came before them.
//
// A step that ends only once the host has waited for all its work leaves no task under way. Then every
// stream is ready before the next step's first launch could reach it, and every communicator is free: all
// that the next step does is as late after its start as it would be after any other start.
#pragma once

#include <cstddef>

#include "models/program/step_program.hpp"
#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

// Whether the host has waited for all tasks of the step when it ends, as far as the program's events
// tell, whatever the tasks take.
bool ends_idle(const Program& step, std::size_t streams);

// Whether streams that became idle before the host went on are ready for its next launch.
bool is_ready_when_idle(const HostCosts& host);

}  // namespace foreshard::simulator
