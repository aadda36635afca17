#include "simulator/fit/known_costs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/base/statistics.hpp"

namespace foreshard::simulator {
namespace {

// How much longer than in `known` the costs that both have took.
double slowness(const ThreadCountCosts& known, const ThreadCountCosts& regime) {
  constexpr std::size_t kEnough = 5;  // keys; fewer may be slow for reasons of their own
  std::vector<double> ratios;
  for (const auto& [key, cost] : known.measured) {
    const auto found = regime.measured.find(key);
    if (found == regime.measured.end() || cost.ns <= 0 || found->second.ns <= 0) continue;
    ratios.push_back(found->second.ns / cost.ns);
  }
  return ratios.size() < kEnough ? 1 : median(std::move(ratios));
}

void add_missing(const MeasuredCosts& known, double slowness, MeasuredCosts& costs) {
  for (const auto& [key, cost] : known)
    costs.try_emplace(key, MeasuredCost{cost.ns * slowness, cost.count, cost.nodes});
}

void add_missing(const ThreadCountCosts& known, ThreadCountCosts& regime) {
  const double slower = slowness(known, regime);
  add_missing(known.measured, slower, regime.measured);
  add_missing(known.measured_on_host, slower, regime.measured_on_host);
  for (std::size_t k = 0; k < regime.host_samples.issue.size(); ++k) {
    if (regime.host_samples.issue[k] > 0) continue;
    regime.host_samples.issue[k] = known.host_samples.issue[k];
    regime.host.issue_ns[k] = known.host.issue_ns[k];
  }
  for (std::size_t i = 0; i < kHostLatencies.size(); ++i) {
    if (regime.host_samples.latencies[i] > 0) continue;
    regime.host_samples.latencies[i] = known.host_samples.latencies[i];
    regime.host.*kHostLatencies[i] = known.host.*kHostLatencies[i];
  }
}

}  // namespace

Result<void> check_machine(const KnownCosts& known, const RunSamples& samples) {
  const CostTable& table = known.table;
  if (table.machine_name == samples.machine_name && table.cores == samples.cores) return {};
  return fail(known.file, "machine.name",
              "holds costs of another machine (" + table.machine_name + ") than " + samples.file +
                  " was recorded on (" + samples.machine_name + "); expected costs of that one");
}

bool contains(const KnownCosts& known, const RunSamples& samples) {
  const auto& runs = known.table.calibration;
  return std::any_of(runs.begin(), runs.end(), [&](const Calibration& run) {
    return run.plan == samples.plan_toml && run.ranks == samples.ranks &&
           run.measured_ns == samples.step_ns;
  });
}

void add_measured(const CostTable& known, CostTable& table) {
  table.impossible_keys += known.impossible_keys;
  if (table.segments.allocs == 0) table.segments = known.segments;
  if (!table.variation) table.variation = known.variation;
  for (const ThreadCountCosts& regime : known.regimes) {
    const auto same = std::find_if(
        table.regimes.begin(), table.regimes.end(),
        [&](const ThreadCountCosts& other) { return other.threads == regime.threads; });
    if (same != table.regimes.end()) {
      add_missing(regime, *same);
      continue;
    }
    ThreadCountCosts& copy = table.regimes.emplace_back(regime);
    copy.operators.clear();
    copy.collectives.clear();
  }
}

void add_crowding(const CostTable& known, CostTable& table) {
  for (const Oversubscription& crowding : known.crowding) {
    const bool is_there = std::any_of(
        table.crowding.begin(), table.crowding.end(), [&](const Oversubscription& other) {
          return other.threads == crowding.threads && other.ranks == crowding.ranks;
        });
    if (!is_there) table.crowding.push_back(crowding);
  }
}

}  // namespace foreshard::simulator
