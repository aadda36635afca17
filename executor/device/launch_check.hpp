// Whose kernel has failed. CUDA tells it by a later call, whichever comes first, and by all that follow, of
// all ranks that share the GPU. So that the instruction can be named, a run on GPUs waits for each one
// before it goes on where the environment asks for it: with FORESHARD_CUDA_CHECK=1, or CUDA's own
// CUDA_LAUNCH_BLOCKING=1.
#pragma once

#include <functional>
#include <string>

#include "executor/device/device.hpp"
#include "executor/device/run_control.hpp"

namespace foreshard::executor {

// Whether the environment asks for it.
bool checks_launches();

// Whether work can only end once other ranks have issued theirs, as in collectives.
enum class Meets { nobody, other_ranks };

// Does what `work` issues on the rank's device and waits for it. Ranks of this process do so one at a time,
// but where they meet. Where it fails the run fails with the name of the work.
void do_checked(RunControl& run, Device& device, Meets meets,
                const std::function<std::string()>& name, const std::function<void()>& work);

// The run fails on this rank in what has no name. Where other ranks' work is checked at this time, one
// that fails says so first.
void fail_without_name(RunControl& run, int rank, const std::string& why);

}  // namespace foreshard::executor
