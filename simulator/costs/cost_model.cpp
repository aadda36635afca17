#include "simulator/costs/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace foreshard::simulator {
namespace {

bool is_paid(const ProgramCosts& costs, std::size_t at) {
  return std::any_of(costs.counts.begin(), costs.counts.end(),
                     [at](const auto& counts) { return counts[at] > 0; });
}

}  // namespace

ProgramCosts counted_costs(const RankProgram& program, ProgramCosts memory) {
  ProgramCosts costs = std::move(memory);
  const std::size_t places = cost_places(program.place);
  const std::size_t count = program.cost_keys.size() * places;
  costs.operators.assign(count, kNone);
  costs.counts.resize(program.programs.size());
  for (std::size_t p = 0; p < program.programs.size(); ++p) {
    const Program& step = program.programs[p];
    std::vector<std::int64_t>& counts = costs.counts[p];
    counts.assign(count, 0);
    const auto count_stretch = [&](std::size_t begin, std::size_t end, std::int64_t times) {
      for (const Instruction& i : std::span(step.instructions).subspan(begin, end - begin)) {
        if (i.cost_key == kNone) continue;
        const std::size_t at = cost_index(i, places);
        counts[at] += times;
        if (costs.operators[at] == kNone) costs.operators[at] = i.op;
      }
    };
    const auto begin = static_cast<std::size_t>(step.repetition.begin);
    const auto end = static_cast<std::size_t>(step.repetition.end);
    count_stretch(0, begin, 1);
    count_stretch(begin, end, 1 + step.repetition.more);
    count_stretch(end, step.instructions.size(), 1);
  }
  return costs;
}

ProgramCosts priced_costs(const RankProgram& program, const CostModel& model,
                          ProgramCosts counted) {
  const std::size_t places = cost_places(program.place);
  ProgramCosts result = std::move(counted);
  const std::size_t count = result.operators.size();
  result.costs.assign(count, {});
  result.sources.assign(count, CostSource::unknown);
  result.errors.assign(count, 0);
  result.rates.assign(count, Rate::kCount);
  for (std::size_t at = 0; at < count; ++at) {
    if (!is_paid(result, at)) continue;
    const std::size_t where = at % places;
    TaskPlace place{where == kHostPlace};
    if (where >= kFirstGroupPlace) {
      const RankPlace::Membership& group = program.place.groups[where - kFirstGroupPlace];
      place = {false, nodes_of(group, model.platform.ranks_per_node),
               fewest_on_a_node(group, model.platform.ranks_per_node)};
    }
    int launches = 1;
    if (result.operators[at] != kNone) {
      const OperatorInfo& op = program.operators[static_cast<std::size_t>(result.operators[at])];
      place.name = op.name;
      launches = op.launches;
    }
    if (program.cost_keys[at / places].op == Operator::opaque) continue;
    const CostEstimate estimate = model.estimate(program.cost_keys[at / places], place);
    result.costs[at] = {std::llround(std::min(estimate.ns / launches, kForeverNs)), estimate.uses,
                        estimate.takes, estimate.lacks};
    result.sources[at] = estimate.source;
    result.errors[at] = estimate.error;
    result.rates[at] = estimate.rate;
  }
  return result;
}

double work_ns(const RankProgram& program, const ProgramCosts& costs, std::int64_t steps) {
  const auto work_of = [&](const std::vector<std::int64_t>& counts) {
    double sum = 0;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      sum += static_cast<double>(costs.costs[c].ns) * static_cast<double>(counts[c]);
    }
    return sum;
  };
  double sum = 0;
  const std::size_t steps_end = costs.counts.size() - program.closing;
  for (std::size_t p = 0; p < costs.counts.size(); ++p) {
    const std::int64_t runs = p < steps_end ? program.runs_of(p, steps) : 1;
    sum += static_cast<double>(runs) * work_of(costs.counts[p]);
  }
  return sum;
}

}  // namespace foreshard::simulator
