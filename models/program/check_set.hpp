// Whether programs that were not lowered here belong together: every one is some rank's, all have the
// same groups, and none waits for another forever.
//
// A rank of a class stands for all of them, in each of its groups. So all programs must come to
// collectives of the same groups in the same order; else some would wait at one that others never begin.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "models/program/program_json.hpp"

namespace foreshard {

// Of programs that have each passed check_program. The error's field is a place in their file.
Result<void> check_set(const RankPrograms& set, const std::string& file);

}  // namespace foreshard
