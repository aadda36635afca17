// Settings of a plan that change nothing for this model, on this device, or with this implementation. What
// the plan alone decides is in the rows of its keys (models/plan).
#pragma once

#include <string>
#include <vector>

#include "models/sharding/job.hpp"

namespace foreshard {

// One sentence for each, of a job that is whole but for its warnings.
std::vector<std::string> unread_settings(const Job& job);

}  // namespace foreshard
