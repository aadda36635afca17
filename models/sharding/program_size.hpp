// How many instructions a step will have, before it is lowered: a model and a plan can both be valid
// and their program still be of billions, which no machine holds.
#pragma once

#include <cstdint>
#include <string>

#include "models/base/error.hpp"
#include "models/sharding/job.hpp"

namespace foreshard {

// An estimate, mostly within a third: what a block and a unit take in each micro-step.
std::int64_t estimated_instructions(const Job& job);

// An error where a step has more than 20 million instructions, for which a program takes some 5 GB;
// it names `plan_file`.
Result<void> check_program_size(const Job& job, const std::string& plan_file);

}  // namespace foreshard
