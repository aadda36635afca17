// The engine with sharing: an event loop over tasks whose rates depend on each other, see engine.hpp.
#pragma once

#include <span>
#include <vector>

#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

std::vector<RankTimeline> simulate_shared(std::span<const SimulatedRank> ranks,
                                          const EngineOptions& options);

}  // namespace foreshard::simulator
