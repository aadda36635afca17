// The checkpoints that a run leaves on its way: FOLDER/step-<n> every so many steps, of which the last few
// stay, and FOLDER/latest, a link to the newest. A checkpoint has its name only while it is whole:
// it is written under another one, and gets another one before it is removed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/data/checkpoint.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

std::string step_path(const std::string& folder, std::int64_t step);

// The steps whose checkpoints have their name there, in order.
std::vector<std::int64_t> steps_in(const std::string& folder);

// Whether a run that goes on behind `step` (0: from the start) could leave its checkpoints there: the
// folder can be made or holds nothing but a series, none of whose whole checkpoints is of a later step.
Result<void> check_series_target(const std::string& folder, std::int64_t step);

// Makes the folder where it is missing, and removes what a killed run has left unfinished.
Result<void> begin_series(const std::string& folder);

// After the checkpoint of that step has got its name: it is the latest, and of those before it all but
// the last keep - 1 are removed.
Result<void> advance_series(const std::string& folder, std::int64_t step, std::int64_t keep);

// The checkpoint to go on from at a path: the one that is there, or the newest of a series that can be
// read.
struct FoundCheckpoint {
  Checkpoint checkpoint;
  std::string path;
  std::vector<Error> damaged;  // newer ones
};
Result<FoundCheckpoint> find_checkpoint(const std::string& path);

}  // namespace foreshard::executor
