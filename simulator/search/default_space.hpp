// The space that is searched where none is given: values that the rows of plan keys name, and some that
// take several keys. They move memory and time of sharded training and leave what is trained alone.
#pragma once

#include <vector>

#include "models/plan/plan_space.hpp"

namespace foreshard::simulator {

std::vector<PlanAxis> default_space();

}  // namespace foreshard::simulator
