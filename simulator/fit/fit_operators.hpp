// Operators' and collectives' times as functions of their sizes, fitted to the costs of a regime.
//
// An operator takes overhead + max(operations x a, bytes x b), a collective a + c sqrt(n) + b n, all
// coefficients non-negative, by least squares on relative errors. Few or equal sizes cannot tell what
// grows with what. Then a weak pull decides: on processors towards no overhead; on accelerators
// towards what kernels commonly reach of the data sheet, which also bounds the rates.
#pragma once

#include <vector>

#include "models/hardware/hardware.hpp"
#include "simulator/costs/cost_table.hpp"

namespace foreshard::simulator {

// Fills `operators` and `collectives` of each regime from its measured costs. `part`: the device's
// data sheet, or that of the fastest part where the catalogue has none; nullptr for processors.
void fit_operators(std::vector<ThreadCountCosts>& regimes, const Machine* part);

// Nodes that the group of a collective is spread over. Where a recording does not say which ranks are in
// it, devices that a node holds are taken to be in it first.
std::int64_t nodes_of(const MeasuredCost& cost, const CostKey& key, const Machine* part);

}  // namespace foreshard::simulator
