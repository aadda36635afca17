// What a training run is going to write, for the check of its disks.
#pragma once

#include <vector>

#include "executor/run/training.hpp"
#include "models/base/disk_space.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::cli {

// Checkpoints and exports, whose sizes are known: the most that is there at one time beside what is there now.
std::vector<PlannedOutput> planned_outputs(const Job& job,
                                           const executor::TrainingOptions& options);

}  // namespace foreshard::cli
