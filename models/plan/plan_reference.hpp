// The reference of a plan's keys: what `foreshard plan --defaults` prints and docs/plan.md holds.
#pragma once

#include <string>

namespace foreshard {

// The default plan as a plan file, each key below a comment of its meaning and what it allows.
std::string commented_default_plan();
// The same as a page of the documentation.
std::string plan_reference_markdown();

}  // namespace foreshard
