// How much the ranks of a run differ from each other, as recordings of several of them showed it.
#pragma once

#include <cstdint>

namespace foreshard::simulator {

// Standard deviations of the logarithm of what computing takes.
struct RankVariation {
  double between_ranks = 0;  // of the part of a rank that stays
  double between_steps = 0;  // of what comes and goes with each step
  std::int64_t ranks = 0;    // that were compared
  std::int64_t steps = 0;    // of all of them
};

}  // namespace foreshard::simulator
