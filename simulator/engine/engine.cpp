#include "simulator/engine/engine.hpp"

#include <utility>

#include "simulator/engine/engine_in_order.hpp"
#include "simulator/engine/engine_shared.hpp"

namespace foreshard::simulator {

std::int64_t communicator_id(const RankPlace& place, Group group, bool one_per_class) {
  const auto row = static_cast<std::int64_t>(group);
  if (one_per_class) return row;
  return place[group].first_rank * static_cast<std::int64_t>(place.groups.size()) + row;
}

std::vector<RankTimeline> simulate(std::span<const SimulatedRank> ranks,
                                   const EngineOptions& options, std::vector<RankTimeline> memory) {
  return options.shares ? simulate_shared(ranks, options)
                        : simulate_in_order(ranks, options, std::move(memory));
}

}  // namespace foreshard::simulator
