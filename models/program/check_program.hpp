// Whether a program that was not lowered here can be interpreted: every row number stands in its
// table, work has a cost key of its kind, and buffers are freed only while they are allocated.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "models/program/step_program.hpp"

namespace foreshard {

// The first thing wrong with it; the error's field is its place in a file of programs, such as
// "programs[0].steps[1].instructions[5].stream", where `position` is "programs[0]".
Result<void> check_program(const RankProgram& program, const std::string& file,
                           const std::string& position);

}  // namespace foreshard
