// A later step, made from the first one instead of lowered again: all steps do the same, on buffers of
// their own, except that the first also creates what outlives it (the optimizer's states).
#pragma once

#include <cstddef>
#include <span>

#include "models/program/step_program.hpp"

namespace foreshard::lowering {

// How far a lowering has come.
struct ProgramPosition {
  std::size_t instructions = 0, operands = 0;  // of the program at hand
  std::size_t buffers = 0;                     // of all programs
};

struct ProgramStretch {
  ProgramPosition begin, end;
};

// Makes `next`, which is empty, what `first` is, from `begin` on the last program lowered, without the
// stretches `once`, whose events are waited for in them alone. Buffers that first declares outside of them are
// declared anew, in the same order.
void append_later_step(RankProgram& program, const Program& first, const ProgramPosition& begin,
                       std::span<const ProgramStretch> once, Program& next);

}  // namespace foreshard::lowering
