#include "simulator/cost_model.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::simulator {

std::int64_t nodes_of(const RankPlace::Membership& membership, int ranks_per_node) {
  if (ranks_per_node <= 0) return 1;
  const std::int64_t reach = static_cast<std::int64_t>(membership.size - 1) * membership.stride;
  const std::int64_t first = membership.first_rank / ranks_per_node;
  const std::int64_t last = (membership.first_rank + reach) / ranks_per_node;
  return std::min<std::int64_t>(membership.size, last - first + 1);
}

ProgramCosts program_costs(const RankProgram& program, const CostModel& model) {
  std::vector<TaskPlace> places(program.cost_keys.size());
  for (const Program* step : {&program.setup, &program.first, &program.steady}) {
    for (const Instruction& i : step->instructions) {
      if (i.kind == Kind::host_compute) {
        places[static_cast<std::size_t>(i.cost_key)].on_host = true;
      } else if (i.kind == Kind::collective) {
        const auto& membership = program.place.groups[static_cast<std::size_t>(i.group)];
        std::int64_t& nodes = places[static_cast<std::size_t>(i.cost_key)].nodes;
        nodes = std::max(nodes, nodes_of(membership, model.ranks_per_node()));
      }
    }
  }
  ProgramCosts result;
  result.costs.reserve(program.cost_keys.size());
  result.sources.reserve(program.cost_keys.size());
  result.errors.reserve(program.cost_keys.size());
  for (std::size_t k = 0; k < program.cost_keys.size(); ++k) {
    const CostEstimate estimate = model.estimate(program.cost_keys[k], places[k]);
    result.costs.push_back({std::llround(estimate.ns), estimate.uses});
    result.sources.push_back(estimate.source);
    result.errors.push_back(estimate.error);
  }
  return result;
}

}  // namespace foreshard::simulator
