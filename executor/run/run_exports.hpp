// What a run leaves behind: its checkpoint and the exported weights and gradients, gathered from the
// ranks of this process, or through messages from the others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executor/run/rank_run.hpp"

namespace foreshard::executor {

// Everything the options name. All processes call it together; throws Aborted where one is lost.
Result<void> write_outputs(RunShared& shared, const std::vector<std::unique_ptr<RankRun>>& ranks,
                           const TrainingResult& result);

}  // namespace foreshard::executor
