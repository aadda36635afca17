#include "simulator/predict/step_band.hpp"

#include <array>
#include <cmath>

#include "models/base/statistics.hpp"

namespace foreshard::simulator {
namespace {

// The one that stands for those of the same code.
Operator family_of(Operator op) {
  if (is_matmul(op)) return Operator::matmul;
  return is_attention(op) ? Operator::attention : op;
}

}  // namespace

double band_of_step(const RankProgram& program, const ProgramCosts& costs,
                    const std::vector<std::int64_t>& counts, const CostModel& model) {
  std::array<double, static_cast<std::size_t>(Operator::kCount)> unsure{};
  RateVector rates{};
  double total = 0;
  const std::size_t places = cost_places(program.place);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const double ns = static_cast<double>(costs.costs[c].ns) * static_cast<double>(counts[c]);
    total += ns;
    if (costs.rates[c] != Rate::kCount) {
      rates[static_cast<std::size_t>(costs.rates[c])] += ns;
      continue;
    }
    const Operator op = program.cost_keys[c / places].op;
    unsure[static_cast<std::size_t>(family_of(op))] += ns * costs.errors[c];
  }
  if (total <= 0) return model.band();
  for (double& share : rates) share /= total;
  const double of_rates = kNinetyPercent * model.rate_error(rates);
  double squares = model.band() * model.band() + of_rates * of_rates;
  for (const double part : unsure) {
    const double share = kNinetyPercent * part / total;
    squares += share * share;
  }
  return std::sqrt(squares);
}

}  // namespace foreshard::simulator
