// What a training run goes on from, and whether it may: the checkpoint, the run that it is of, and what is asked
// otherwise now.
#pragma once

#include <cstdint>
#include <string>

#include "executor/data/checkpoint.hpp"
#include "models/base/error.hpp"

namespace foreshard::cli {

// The checkpoint at `path`, or the newest readable one of a series there; newer ones that are damaged are warned
// of. An error where it is not of a step before `steps`, the number of the last one. `step`: the one that it is
// said to be of where it does not say so itself, else 0.
Result<executor::Checkpoint> checkpoint_to_resume(const std::string& path, std::int64_t steps,
                                                  std::int64_t step);

// Warns line by line of what is asked otherwise than in the checkpoint, where that says of what run it is. An
// error where the data file is the same and its tokens are not.
Result<void> check_continues(const executor::RunState& now, const executor::Checkpoint& checkpoint);

}  // namespace foreshard::cli
