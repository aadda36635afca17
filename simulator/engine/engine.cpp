#include "simulator/engine/engine.hpp"

#include <utility>

#include "simulator/engine/engine_in_order.hpp"
#include "simulator/engine/engine_shared.hpp"

namespace foreshard::simulator {

std::int32_t communicator_id(const RankPlace& place, Group group, bool one_per_class) {
  const int kind = static_cast<int>(group);
  if (one_per_class) return kind;
  return place.groups[kind].first_rank * static_cast<int>(Group::kCount) + kind;
}

std::vector<RankTimeline> simulate(std::span<const SimulatedRank> ranks,
                                   const EngineOptions& options, std::vector<RankTimeline> memory) {
  return options.shares ? simulate_shared(ranks, options)
                        : simulate_in_order(ranks, options, std::move(memory));
}

}  // namespace foreshard::simulator
