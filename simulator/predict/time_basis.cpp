#include "simulator/predict/time_basis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace foreshard::simulator {
namespace {

// What is told apart in the list of operators, with its costs by their index.
struct OperatorCosts {
  OperatorBasis all;
  std::map<std::size_t, std::int64_t> ns;  // by cost_index
};

TaskPlace place_of(const RankProgram& program, const Instruction& i, const CostModel& model) {
  if (i.kind != Kind::collective) return {i.kind == Kind::host_compute};
  const auto& group = program.place.groups[static_cast<std::size_t>(i.group)];
  return {false, nodes_of(group, model.platform.ranks_per_node),
          fewest_on_a_node(group, model.platform.ranks_per_node)};
}

constexpr auto kNoPayment = std::numeric_limits<std::size_t>::max();

// What one operator pays for one cost in a step.
struct Payment {
  const Instruction* by = nullptr;  // one of those that pay it
  std::size_t cost = 0;
  std::int64_t times = 0;
  std::size_t next = kNoPayment;  // of the same cost, by another operator
};

// In the order of their first instructions. `costs`: how many there are.
std::vector<Payment> payments(const Program& step, std::size_t places, std::size_t costs) {
  std::vector<Payment> all;
  std::vector<std::size_t> last(costs, kNoPayment);  // of each cost
  for (std::size_t n = 0; n < step.instructions.size(); ++n) {
    const Instruction& i = step.instructions[n];
    if (i.cost_key == kNone) continue;
    const std::size_t cost = cost_index(i, places);
    std::size_t found = last[cost];
    while (found != kNoPayment && all[found].by->op != i.op) found = all[found].next;
    if (found == kNoPayment) {
      found = all.size();
      all.push_back({&i, cost, 0, last[cost]});
      last[cost] = found;
    }
    all[found].times += step.repetition.times(n);
  }
  return all;
}

std::vector<OperatorBasis> operators_of(const RankProgram& program, const ProgramCosts& costs,
                                        const Program& step, const CostModel& model) {
  std::map<std::pair<std::string_view, CostSource>, OperatorCosts> found;
  std::map<std::size_t, const Instruction*> payers;  // one for each cost
  for (const Payment& paid : payments(step, cost_places(program.place), costs.costs.size())) {
    const std::size_t c = paid.cost;
    OperatorCosts& of = found[{program.operator_name(*paid.by), costs.sources[c]}];
    const std::int64_t ns = paid.times * costs.costs[c].ns;
    of.all.count += paid.times;
    of.all.ns += ns;
    of.all.deviation += static_cast<double>(ns) * costs.errors[c];
    of.ns[c] += ns;
    payers.emplace(c, paid.by);
  }
  std::vector<OperatorBasis> operators;
  for (auto& [key, of] : found) {
    const auto longest = std::max_element(of.ns.begin(), of.ns.end(),
                                          [](auto& a, auto& b) { return a.second < b.second; });
    const Instruction& payer = *payers.at(longest->first);
    of.all.name = key.first;
    of.all.source = key.second;
    if (of.all.ns > 0) of.all.deviation /= static_cast<double>(of.all.ns);
    of.all.basis = model.basis(program.cost_keys[static_cast<std::size_t>(payer.cost_key)],
                               place_of(program, payer, model));
    operators.push_back(std::move(of.all));
  }
  std::sort(operators.begin(), operators.end(), [](const auto& a, const auto& b) {
    return std::tie(b.ns, a.name, a.source) < std::tie(a.ns, b.name, b.source);
  });
  return operators;
}

std::vector<UncertaintyComponent> components_of(const StepUncertainty& uncertainty,
                                                const CostModel& model) {
  std::vector<UncertaintyComponent> parts;
  const double rest = uncertainty.left_out.deviation;
  parts.push_back({"(left out)", 1, rest, rest * rest, uncertainty.left_out.basis});
  if (const RateFactors* factors = model.factors()) {
    const RateVector along = factors->along(uncertainty.rates);
    for (std::size_t r = 0; r < kRates; ++r) {
      if (uncertainty.rates[r] <= 0) continue;
      parts.push_back({std::string(kRateNames[r]), uncertainty.rates[r],
                       factors->deviation(static_cast<Rate>(r)), uncertainty.rates[r] * along[r],
                       model.basis(static_cast<Rate>(r))});
    }
  }
  const ErrorSpread& left_out = uncertainty.left_out;
  if (left_out.beyond > 0) {
    parts.push_back({left_out.beyond_name, 1, left_out.beyond, left_out.beyond * left_out.beyond,
                     left_out.beyond_basis});
  }
  if (uncertainty.unexercised > 0) {
    parts.push_back({"(not exercised)", 1, uncertainty.unexercised,
                     uncertainty.unexercised * uncertainty.unexercised,
                     "kernels, links and nodes that the observed runs did not use, or less"});
  }
  if (uncertainty.slowest_rank > 0) {
    const double deviation = model.certainty.slowest_rank.deviation;
    parts.push_back({"(slowest rank)", uncertainty.slowest_rank / deviation, deviation,
                     uncertainty.slowest_rank * uncertainty.slowest_rank,
                     model.wording.slowest_rank});
  }
  for (std::size_t op = 0; op < kOperators; ++op) {
    const double deviation = uncertainty.operators[op];
    if (deviation <= 0) continue;
    parts.push_back({std::string(name(static_cast<Operator>(op))), uncertainty.work[op],
                     deviation / uncertainty.work[op], deviation * deviation,
                     "estimates of costs that were not measured"});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const UncertaintyComponent& a, const UncertaintyComponent& b) {
                     return a.variance > b.variance;
                   });
  return parts;
}

}  // namespace

TimeBasis time_basis(const RankProgram& program, const ProgramCosts& costs, std::int64_t step,
                     const CostModel& model, const StepUncertainty& uncertainty) {
  TimeBasis basis;
  basis.operators = operators_of(program, costs, program.step(step), model);
  basis.components = components_of(uncertainty, model);
  basis.half_width = half_width(uncertainty, model.factors());
  basis.quantile = uncertainty.left_out.quantile;
  return basis;
}

}  // namespace foreshard::simulator
