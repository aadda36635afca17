// What step times rest on, where a command takes both a cost file and a machine: whether the two
// speak of the same thing.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "models/hardware/hardware.hpp"
#include "simulator/costs/cost_table.hpp"

namespace foreshard::cli {

// An error where `costs`, read from `file`, are those of a processor, or rest on runs that were
// observed on another machine.
Result<void> check_costs_are_of(const Machine& machine, const simulator::CostTable& costs,
                                const std::string& file);

}  // namespace foreshard::cli
