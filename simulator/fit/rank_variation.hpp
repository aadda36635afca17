// How much ranks differ in what they compute the same work in, from recordings of several of them.
//
// The logarithm of the time that a rank's products and attention take in a step is a common part of
// the step, which all ranks share, and two of its own: one of the rank, which stays, and one of the
// rank in that step. The mean squares of the two-way layout estimate the two variances (Searle,
// Casella and McCulloch, Variance Components, 1992); estimates below nothing are nothing.
// Recordings are pooled by their degrees of freedom.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/costs/rank_variation.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

// The logarithms of nanoseconds by rank, then step: all ranks of a recording that did the same
// work, in the steps in which all of them did. Fewer than two ranks: nothing to compare.
using RankStepTimes = std::vector<std::vector<double>>;

RankStepTimes rank_step_times(const traces::Trace& trace);

// Nothing where no recording has two ranks.
std::optional<RankVariation> rank_variation(const std::vector<RankStepTimes>& recordings);

}  // namespace foreshard::simulator
