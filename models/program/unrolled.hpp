// Programs in full, from those in which repetitions are written down once.
//
// The micro-steps of a training step do the same on buffers and events of their own, so that a program
// of sixteen says little that one of three does not. In the short form two copies stand one after the
// other, and Repetition holds how many more follow. What differs between the two goes on from there: a
// buffer or event that each makes, or takes from the one before it, is another one in each copy, and
// numbers such as that of the micro-step grow by the same amount. What stands after the copies refers to
// the last of them where it refers to the second.
#pragma once

#include "models/program/step_program.hpp"

namespace foreshard {

// The same run without repetitions; numbers of instructions and buffers are those of the full form.
RankProgram unrolled(const RankProgram& program);

}  // namespace foreshard
