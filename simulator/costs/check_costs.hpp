// Whether a cost file and a machine that are given together belong together.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "models/hardware/hardware.hpp"
#include "simulator/costs/cost_table.hpp"

namespace foreshard::simulator {

// An error where `costs`, read from `file`, are those of a processor, or rest on runs that were
// observed on another machine.
Result<void> check_costs_are_of(const Machine& machine, const CostTable& costs,
                                const std::string& file);

}  // namespace foreshard::simulator
