// What a run that is out of memory was about to do, in the words of its report. Executor and
// simulator both say it by this function, so that they say the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/step_program.hpp"

namespace foreshard {

struct OomContext {
  std::string_view operator_name;  // empty: nothing in this step ever uses the buffer
  std::string unit;                // of the instruction; empty: the root's, or none
  Phase phase = Phase::setup;
};

// `instruction` of step `step` is the alloc that failed. The operator is that of the first launch,
// collective, copy or host work from there on that has the buffer among its operands.
OomContext oom_context(const RankProgram& program, std::int64_t step, std::int64_t instruction);

}  // namespace foreshard
