// What kernels take for granted of a program: that every launch names the operands its operator has.
#pragma once

#include "models/program/step_program.hpp"

namespace foreshard::executor {

// Throws std::logic_error, naming the instruction, for a launch with fewer operands than
// models/program/operators.hpp lists, or with other numbers of parameters than its unit has. Once for a
// program: kernels index their operands unchecked.
void check_operands(const RankProgram& program);

}  // namespace foreshard::executor
