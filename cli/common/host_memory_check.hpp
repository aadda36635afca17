// Before a run: whether its ranks fit into this machine's memory at all. Their peaks are known to
// the byte, and the kernel would kill the run half-way without a message.
#pragma once

#include <cstdint>
#include <optional>

#include "models/lowering/training/run_variant.hpp"
#include "models/program/step_program.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::cli {

// What a run does besides its steps.
struct HostUse {
  RunVariant run;
  bool copies_state = false;  // to save it while training goes on
};

// An error where all that `ranks_here` ranks allocate at their peaks, on the device and on the host,
// is more than the machine has available; `device_memory` limits each rank's device. The peaks are
// those of the first two steps and of what follows the last; later ones repeat.
Result<void> check_host_memory(const Job& job, int ranks_here,
                               std::optional<std::int64_t> device_memory, const HostUse& use = {});

}  // namespace foreshard::cli
