// Whether a run is still worth going on: the first loss, gradient norm, parameter or optimizer state that
// is no finite number ends it, named, and nothing it has computed replaces what was saved before. As many steps as
// the user allows are skipped instead, for their loss or norm: their update is left out.
//
// A step's loss and gradient norm are sums over all ranks and the same bits on each of them, so that all
// end with the same step without asking each other.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/run/rank_run.hpp"

namespace foreshard::executor {

// Which of these parameters and optimizer states, as a step left them, is not finite, of the first rank that has
// one. By all processes together; throws Aborted where one is lost.
std::optional<std::string> find_non_finite(RunShared& shared, std::int64_t step,
                                           std::span<const RankValues> ranks);

// What is not finite at the run's end: of the last step, or of what its update left where that is to be
// written. Nothing where all is. Likewise, after the closing programs.
std::optional<std::string> find_non_finite(RunShared& shared,
                                           const std::vector<std::unique_ptr<RankRun>>& ranks);

}  // namespace foreshard::executor
