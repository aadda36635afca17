// From samples to tables: the parts of `fit` that need no program.
#pragma once

#include <functional>
#include <vector>

#include "simulator/costs/cost_table.hpp"
#include "simulator/fit/fit_samples.hpp"

namespace foreshard::simulator {

// Bytes per nanosecond that the tasks of a machine share, such that dividing it explains best why
// equal tasks took different times: a task that reads and writes d beside others with D takes
// max(1, (d + D) / bandwidth) times as long as alone. 0 where no limit explains anything.
double fit_memory_bandwidth(const std::vector<const RunSamples*>& runs);

// Everything of a table but crowding, calibration and band. `slow_down` is how much longer than
// alone the tasks of a run took because of its number of ranks. `memory_bytes_per_ns`: the bandwidth
// that they share, 0 for no limit. `known`: costs beside those of the runs (known_costs.hpp), or
// nullptr.
CostTable fit_tables(const std::vector<const RunSamples*>& runs,
                     const std::function<double(const RunSamples&)>& slow_down,
                     double memory_bytes_per_ns, const CostTable* known);

}  // namespace foreshard::simulator
