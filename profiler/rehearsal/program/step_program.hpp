// The step program of a rehearsed rank: what its last step issued, in the order of its host threads,
// with keys for what each piece of work costs and no times.
//
// The set-up is the allocator's history from the beginning to that step, so that memory is laid out as it
// was; it launches nothing. The step repeats: what it leaves to the next one is what it found, as far as
// that has the same size. It ends when all its work is done, as steps do whose loss is read.
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "models/program/step_program.hpp"
#include "profiler/rehearsal/program/captured_step.hpp"

namespace foreshard::profiler {

struct RehearsedProgram {
  RankProgram program;
  std::vector<std::string> notes;  // what of the step is not in it, a sentence each
};

RehearsedProgram step_program(const CapturedStep& step);

}  // namespace foreshard::profiler
