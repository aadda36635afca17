// The engine without sharing: one pass over each program, see engine.hpp.
#pragma once

#include <span>
#include <vector>

#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

std::vector<RankTimeline> simulate_in_order(std::span<const SimulatedRank> ranks,
                                            const EngineOptions& options,
                                            std::vector<RankTimeline> memory);

}  // namespace foreshard::simulator
