// What somebody set in a plan.
#pragma once

#include <vector>

#include "models/plan/plan.hpp"

namespace foreshard {

// The keys that are not at their defaults, in the order of the plan file.
std::vector<SpeltKey> changed_keys(const Plan& plan);

}  // namespace foreshard
