// Whether programs that were not lowered here belong together: every one is some rank's, all have the
// same tables of groups, and none waits for another forever.
//
// Where all programs come to collectives of the same groups in the same order, a rank of a class stands for
// all of them, in each of its groups. Where they do not, as stages of a pipeline do not, they are staged: each
// program is that of its class's lowest rank, and collectives are matched among those of them that are in one
// group. They must be as many for each.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "models/program/program_json.hpp"

namespace foreshard {

// Of programs with the same tables of groups.
bool is_staged(const RankPrograms& set);

// Of programs that have each passed check_program. The error's field is a place in their file.
Result<void> check_set(const RankPrograms& set, const std::string& file);

}  // namespace foreshard
