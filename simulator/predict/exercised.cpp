#include "simulator/predict/exercised.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "simulator/costs/key_facts.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kOfADoubling = 0.9;  // of nodes

// Attention's kernels have their family in the framework's name.
std::string code_of(const CostKey& key, std::string_view operator_name) {
  if (!is_attention(key.op)) return std::string(name(family_of(key.op)));
  for (const std::string_view family : {"flash", "efficient"}) {
    if (operator_name.find(family) != std::string_view::npos) {
      return std::string(family) + " attention";
    }
  }
  return "attention";
}

std::string kernel_of(const CostKey& key, std::string_view operator_name, Rate rate) {
  const std::string limit(kRateNames[static_cast<std::size_t>(rate)]);
  if (rate == Rate::host) return limit;
  const std::string of = limit + " " + code_of(key, operator_name);
  return is_transfer(key.op) ? of : of + " " + std::string(name(key.dtype));
}

}  // namespace

Exercise exercise_of(const RankProgram& program, const ProgramCosts& costs,
                     const std::vector<std::int64_t>& counts, const RateVector& shares, int nodes) {
  std::map<std::pair<Rate, std::string>, double> times;
  RateVector of_rate{};
  const std::size_t places = cost_places(program.place);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const Rate rate = costs.rates[c];
    const double ns = static_cast<double>(costs.costs[c].ns) * static_cast<double>(counts[c]);
    if (rate == Rate::kCount || ns <= 0) continue;
    const std::int32_t by = costs.operators[c];
    const std::string_view operator_name =
        by == kNone ? std::string_view() : program.operators[static_cast<std::size_t>(by)].name;
    times[{rate, kernel_of(program.cost_keys[c / places], operator_name, rate)}] += ns;
    of_rate[static_cast<std::size_t>(rate)] += ns;
  }
  // The host's launches are no costs.
  constexpr auto kHost = static_cast<std::size_t>(Rate::host);
  if (of_rate[kHost] <= 0) times[{Rate::host, "host"}] = of_rate[kHost] = 1;
  Exercise exercise{nodes, {}};
  for (const auto& [kernel, ns] : times) {
    const auto rate = static_cast<std::size_t>(kernel.first);
    const double share = shares[rate] * ns / of_rate[rate];
    if (share > 0) exercise.kernels.push_back({kernel.second, share});
  }
  return exercise;
}

double exercised_share(const Exercise& step, const std::vector<ObservedStep>& observed) {
  bool is_known = false;
  std::map<std::string, double> exercised;  // by kernel
  for (const ObservedStep& seen : observed) {
    if (seen.exercise.kernels.empty()) continue;
    is_known = true;
    const double doublings =
        std::abs(std::log2(static_cast<double>(std::max(1, seen.exercise.nodes)) /
                           static_cast<double>(std::max(1, step.nodes))));
    for (const KernelShare& shown : seen.exercise.kernels) {
      for (const KernelShare& asked : step.kernels) {
        if (asked.kernel != shown.kernel) continue;
        double& most = exercised[asked.kernel];
        most =
            std::max(most, std::pow(kOfADoubling, doublings) * std::min(asked.share, shown.share));
      }
    }
  }
  if (!is_known) return 1;
  double all = 0, common = 0;
  for (const KernelShare& asked : step.kernels) all += asked.share;
  for (const auto& [kernel, share] : exercised) common += share;
  return all > 0 ? std::min(1.0, common / all) : 1;
}

void add_unexercised(const Exercise& step, const DeviceRates& rates, StepUncertainty& uncertainty) {
  const double common = exercised_share(step, rates.observed);
  const double rest = 1 - common * common;
  double explained = 0;
  for (std::size_t i = 0; i < kRates; ++i) {
    for (std::size_t j = 0; j < kRates; ++j) {
      explained += uncertainty.rates[i] * rates.factors.explained[i][j] * uncertainty.rates[j];
    }
  }
  uncertainty.unexercised = std::sqrt(rest * std::max(0.0, explained));
  double& quantile = uncertainty.left_out.quantile;
  quantile += rest * std::max(0.0, held_out_spread(CostWay::catalogue).quantile - quantile);
}

}  // namespace foreshard::simulator
