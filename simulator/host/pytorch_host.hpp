// What each instruction of a program takes the host's thread that runs PyTorch.
//
// A launch is priced by its operator and by where it stands: in forward it is a call through modules and
// dispatch, in backward a node of autograd and what accumulates its result, in the optimizer a call over
// lists of tensors. Where a layer is checkpointed the hooks of saved tensors come on top. A compiled
// layer is a region with guards, and its launches are those of generated code. Ranges are hooks of FSDP,
// and what they do for each parameter goes with the allocations and frees of these. Nothing else that
// the program lists takes time: allocations are part of the operators that make them. The times are the
// catalogue's (models/hardware/host_times.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "models/program/step_program.hpp"
#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

// Relative to the catalogue's times. A device that does nothing has no driver: 0.
struct HostPace {
  double framework = 1;
  double driver = 1;
};

// By program of the rank; empty of those before `first`.
std::vector<IssueTimes> pytorch_issue_times(const RankProgram& program, const HostPace& pace,
                                            std::size_t first = 0);

}  // namespace foreshard::simulator
