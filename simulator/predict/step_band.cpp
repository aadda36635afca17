#include "simulator/predict/step_band.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::simulator {
namespace {

// `work`: nanoseconds by limit, alone.
RateVector shares_of_step(const RateVector& work, const StepSpan& span) {
  const auto ns = [&](Rate rate) { return work[static_cast<std::size_t>(rate)]; };
  const auto step = static_cast<double>(span.step_ns);
  const auto exposed = static_cast<double>(span.exposed_communication_ns);
  const double kernels = ns(Rate::product) + ns(Rate::attention) + ns(Rate::memory);
  const double collectives = ns(Rate::link) + ns(Rate::network);
  // Kernels of several streams may run at once.
  const double fit = kernels > 0 ? std::min(1.0, (step - exposed) / kernels) : 0;
  const double rest = std::max(0.0, step - exposed - kernels * fit);
  const double on_host = ns(Rate::copy) + ns(Rate::host);
  const double of_copies = on_host > 0 ? std::min(rest, on_host) * ns(Rate::copy) / on_host : 0;
  RateVector shares{};
  const auto set = [&](Rate rate, double time) {
    shares[static_cast<std::size_t>(rate)] = time / step;
  };
  for (const Rate rate : {Rate::product, Rate::attention, Rate::memory}) set(rate, fit * ns(rate));
  for (const Rate rate : {Rate::link, Rate::network}) {
    set(rate, collectives > 0 ? exposed * ns(rate) / collectives : 0);
  }
  set(Rate::copy, of_copies);
  set(Rate::host, rest - of_copies);
  return shares;
}

// What a cost is off by beyond the limit that it rests on.
double own_error(const ProgramCosts& costs, std::size_t c, const CostModel& model) {
  const double error = costs.errors[c];
  if (costs.rates[c] == Rate::kCount || model.factors() == nullptr) return error;
  const double shared = model.factors()->deviation(costs.rates[c]);
  return error > shared ? std::sqrt(error * error - shared * shared) : 0;
}

}  // namespace

Operator family_of(Operator op) {
  if (is_matmul(op)) return Operator::matmul;
  return is_attention(op) ? Operator::attention : op;
}

StepUncertainty uncertainty_of_step(const RankProgram& program, const ProgramCosts& costs,
                                    const std::vector<std::int64_t>& counts, const CostModel& model,
                                    const StepSpan& span) {
  StepUncertainty uncertainty;
  uncertainty.left_out = model.certainty.errors;
  RateVector work{};
  double total = 0, collectives = 0;
  bool has_rates = false;
  const std::size_t places = cost_places(program.place);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 0) continue;
    const double ns = static_cast<double>(costs.costs[c].ns) * static_cast<double>(counts[c]);
    total += ns;
    const Operator op = program.cost_keys[c / places].op;
    if (is_collective(op)) collectives += ns;
    const auto family = static_cast<std::size_t>(family_of(op));
    uncertainty.work[family] += ns;
    uncertainty.operators[family] += ns * own_error(costs, c, model);
    if (costs.rates[c] == Rate::kCount) continue;
    has_rates = true;
    work[static_cast<std::size_t>(costs.rates[c])] += ns;
  }
  if (total <= 0) return uncertainty;
  if (collectives > 0 && span.step_ns > 0) {
    const double waited_for = static_cast<double>(span.exposed_communication_ns) / collectives *
                              total / static_cast<double>(span.step_ns);
    for (std::size_t op = 0; op < kOperators; ++op) {
      if (is_collective(static_cast<Operator>(op))) uncertainty.operators[op] *= waited_for;
    }
  }
  for (double& share : uncertainty.work) share /= total;
  for (double& deviation : uncertainty.operators) deviation /= total;
  const auto share = [&](Operator op) { return uncertainty.work[static_cast<std::size_t>(op)]; };
  uncertainty.slowest_rank = model.certainty.slowest_rank.deviation *
                             (share(Operator::matmul) + share(Operator::attention));
  if (has_rates && span.step_ns > 0 && model.factors() != nullptr) {
    uncertainty.rates = shares_of_step(work, span);
  }
  return uncertainty;
}

double variance(const StepUncertainty& uncertainty, const RateFactors* factors) {
  double sum = uncertainty.left_out.deviation * uncertainty.left_out.deviation +
               uncertainty.left_out.beyond * uncertainty.left_out.beyond +
               uncertainty.slowest_rank * uncertainty.slowest_rank +
               uncertainty.unexercised * uncertainty.unexercised;
  for (const double deviation : uncertainty.operators) sum += deviation * deviation;
  const double of_rates = factors == nullptr ? 0 : factors->error(uncertainty.rates);
  return sum + of_rates * of_rates;
}

double half_width(const StepUncertainty& uncertainty, const RateFactors* factors) {
  return std::max(uncertainty.left_out.least_half_width,
                  uncertainty.left_out.quantile * std::sqrt(variance(uncertainty, factors)));
}

std::pair<Nanoseconds, Nanoseconds> band_around(Nanoseconds step, double half_width) {
  const auto times = [&](double factor) {
    return Nanoseconds(std::llround(static_cast<double>(step.count()) * factor));
  };
  return {times(std::exp(-half_width)), times(std::exp(half_width))};
}

}  // namespace foreshard::simulator
