// How sure the time of a predicted step is.
#pragma once

#include <cstdint>
#include <vector>

#include "models/program/step_program.hpp"
#include "simulator/costs/cost_model.hpp"

namespace foreshard::simulator {

// Half the width of the interval that a measured step lies in with 90 %, relative to the prediction:
// the model's own, widened by how unsure the costs are that the step pays `counts` times each. What rests
// on one limit of a data sheet is wrong together, and the model knows how those limits are; so are other
// estimates of kernels that are the same code, as all matrix products are, or attention and its
// backward. All else is wrong independently.
double band_of_step(const RankProgram& program, const ProgramCosts& costs,
                    const std::vector<std::int64_t>& counts, const CostModel& model);

}  // namespace foreshard::simulator
