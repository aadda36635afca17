// A checkpoint of what the ranks of this process, and of the others, have on their hosts.
#pragma once

#include <span>
#include <string>

#include "executor/run/rank_run.hpp"

namespace foreshard::executor {

// What a run is after a step.
RunState state_after(const RunShared& shared, const StepReport& last);

// By all processes together, each with its own ranks. The error is the same in all where one of them cannot
// do its part; throws Aborted where one is lost.
Result<void> save_checkpoint(RunShared& shared, const std::string& path, const RunState& state,
                             std::span<const RankValues> ranks);

}  // namespace foreshard::executor
