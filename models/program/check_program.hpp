// Whether a program that was not lowered here can be interpreted: every row number stands in its
// table, work has a cost key of its kind, and buffers are freed only while they are allocated.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "models/program/step_program.hpp"

namespace foreshard {

// The first thing wrong with it; the error's field is its position, such as
// "programs[1].instructions[5].stream".
Result<void> check_program(const RankProgram& program, const std::string& file);

}  // namespace foreshard
