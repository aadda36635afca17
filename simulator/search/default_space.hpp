// The space that is searched where nobody gives one: what moves memory and time of sharded training and
// leaves what is trained alone, but for the type in which gradients are reduced.
#pragma once

#include <vector>

#include "models/plan/plan_space.hpp"

namespace foreshard::simulator {

std::vector<PlanAxis> default_space();
// As a file.
extern const char* const kDefaultSpace;

}  // namespace foreshard::simulator
