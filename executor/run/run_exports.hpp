// What a run leaves at its end: its checkpoint and the exported weights and gradients, gathered from the
// ranks of this process, or through messages from the others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executor/run/rank_run.hpp"

namespace foreshard::executor {

// The checkpoint, then the weights and gradients that the options name: each on its own, so that one
// that cannot be written costs no other and is noted, in all processes, which call it together; throws
// Aborted where one is lost.
void write_outputs(RunShared& shared, const std::vector<std::unique_ptr<RankRun>>& ranks,
                   const TrainingResult& result);

// Ends the recordings of all processes, which become one file. `reason`: why the run ended early, or
// empty. Likewise by all together.
Result<void> close_recording(RunShared& shared, std::unique_ptr<profiler::Recorder> recorder,
                             const std::string& reason);

}  // namespace foreshard::executor
