#include "simulator/costs/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace foreshard::simulator {

ProgramCosts program_costs(const RankProgram& program, const CostModel& model,
                           ProgramCosts memory) {
  std::vector<TaskPlace> groups;
  for (const RankPlace::Membership& group : program.place.groups) {
    groups.push_back({false, nodes_of(group, model.ranks_per_node()),
                      fewest_on_a_node(group, model.ranks_per_node())});
  }
  const std::size_t places = cost_places(program.place);
  const std::size_t count = program.cost_keys.size() * places;
  ProgramCosts result = std::move(memory);
  result.costs.assign(count, {});
  result.sources.assign(count, CostSource::unknown);
  result.errors.assign(count, 0);
  result.rates.assign(count, Rate::kCount);
  std::vector<bool> is_known(count);
  result.counts.resize(program.programs.size());
  for (std::size_t p = 0; p < program.programs.size(); ++p) {
    const Program& step = program.programs[p];
    std::vector<std::int64_t>& counts = result.counts[p];
    counts.assign(count, 0);
    for (std::size_t n = 0; n < step.instructions.size(); ++n) {
      const Instruction& i = step.instructions[n];
      if (i.cost_key == kNone) continue;
      const std::size_t at = cost_index(i, places);
      counts[at] += step.repetition.times(n);
      if (is_known[at]) continue;
      is_known[at] = true;
      TaskPlace place{i.kind == Kind::host_compute};
      if (i.kind == Kind::collective) place = groups[static_cast<std::size_t>(i.group)];
      if (i.op != kNone) place.name = program.operator_name(i);
      const CostEstimate estimate =
          model.estimate(program.cost_keys[static_cast<std::size_t>(i.cost_key)], place);
      result.costs[at] = {std::llround(std::min(estimate.ns, kForeverNs)), estimate.uses,
                          static_cast<float>(estimate.contended)};
      result.sources[at] = estimate.source;
      result.errors[at] = estimate.error;
      result.rates[at] = estimate.rate;
    }
  }
  return result;
}

}  // namespace foreshard::simulator
