#include "simulator/costs/cost_table.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/figures.hpp"
#include "models/base/statistics.hpp"
#include "simulator/costs/key_facts.hpp"

namespace foreshard::simulator {

double fitted_ns(const OperatorFit& fit, const CostKey& key) {
  return fit.overhead_ns +
         std::max(fit.ns_per_flop * flops(key), fit.ns_per_byte * bytes_moved(key));
}

double fitted_ns(const CollectiveFit& fit, const CostKey& key) {
  const double bytes = payload_bytes(key);
  return fit.base_ns + fit.ns_per_root_byte * std::sqrt(bytes) + fit.ns_per_byte * bytes;
}

const OperatorFit* ThreadCountCosts::fit_of(const CostKey& key, bool on_host) const {
  for (const OperatorFit& fit : operators) {
    if (fit.op == key.op && fit.dtype == key.dtype && fit.on_host == on_host) return &fit;
  }
  return nullptr;
}

double ThreadCountCosts::best_rate(DType type) const {
  double best = 0;
  for (const auto& [key, cost] : measured) {
    if (key.dtype == type && cost.ns > 0) best = std::max(best, flops(key) / cost.ns);
  }
  return best;
}

const ThreadCountCosts* CostTable::regime(int threads) const {
  for (const ThreadCountCosts& r : regimes) {
    if (r.threads == threads) return &r;
  }
  return nullptr;
}

ErrorSpread errors_of(const CostTable& table) {
  const auto held_out = std::count_if(table.calibration.begin(), table.calibration.end(),
                                      [](const Calibration& run) { return run.held_out_ns > 0; });
  return {table.band / kNinetyPercent, kNinetyPercent,
          held_out > 0 ? "errors of " + plural(held_out, "recording") + " left out of the fit"
                       : "assumed: no recording was left out of the fit"};
}

}  // namespace foreshard::simulator
