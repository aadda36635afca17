// Rules over several keys of a plan: values that are valid alone and contradict each other. Rules
// that need the model or the number of ranks are checked in models/sharding.
#pragma once

#include <optional>
#include <string>

#include "models/plan/plan.hpp"

namespace foreshard {

struct BrokenRule {
  std::string field;    // "section.key" of the key to change
  std::string message;  // "what is wrong; what is expected"
};

std::optional<BrokenRule> broken_rule(const Plan& plan);

}  // namespace foreshard
