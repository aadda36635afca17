// The out-of-memory report: the allocation that failed, and its context. Executor, simulator and
// recordings share it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/allocator/allocator_types.hpp"
#include "models/program/step_program.hpp"

namespace foreshard {

struct OomReport {
  std::int64_t step = 0;
  int rank = 0;
  std::int64_t instruction = 0;
  std::string operator_name;  // empty: nothing in this step ever uses the buffer, or not recorded
  std::string unit;           // of the instruction, as unit_name returns it
  std::string phase;
  OutOfMemory request;
};

// `instruction` of the program's step `step`, every copy of a repetition counted, is the alloc that
// failed. The operator is that of the first launch, collective, copy or host work from there on that has
// the buffer among its operands.
OomReport oom_report(const RankProgram& program, std::int64_t step, std::int32_t instruction,
                     int rank, const OutOfMemory& request);

// The operator for which the program's instruction `allocation`, counted likewise, takes its buffer; "":
// none uses it.
std::string_view operator_that_uses(const RankProgram& program, const Program& code,
                                    std::int32_t allocation);

// The JSON object of every answer's `oom`.
std::string to_json(const OomReport& report);

}  // namespace foreshard
