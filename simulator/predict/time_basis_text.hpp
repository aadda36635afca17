// The section of a prediction's report on what the step's time rests on.
#pragma once

#include <string>

#include "simulator/predict/time_basis.hpp"

namespace foreshard::simulator {

// The operators that take longest, the components of the uncertainty, and the recommended measurement.
std::string time_basis_text(const TimeBasis& basis);

}  // namespace foreshard::simulator
