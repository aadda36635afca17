// What of a step has no known cost, and what a reader is told of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "simulator/costs/cost_model.hpp"

namespace foreshard::simulator {

// How often each is done, by the names of operators, of which several can have one cost.
using UnknownCosts = std::map<std::string_view, std::int64_t>;

UnknownCosts unknown_operators(const RankProgram& program, const ProgramCosts& costs,
                               std::int64_t step);

// `device`: the one that has no data sheet, or "".
std::string unknown_costs_text(const UnknownCosts& unknown, const std::string& device);

}  // namespace foreshard::simulator
