// From a job to the step programs of its ranks.
#pragma once

#include "models/lowering/training/run_variant.hpp"
#include "models/program/step_program.hpp"
#include "models/sharding/job.hpp"

namespace foreshard {

// The lowering. Cost: a few tens of nanoseconds an instruction. `memory`: a program that is no longer
// wanted, whose memory this one takes over.
RankProgram lower(const Job& job, int rank, const RunVariant& run = {}, RankProgram memory = {});

// The same with equal micro-steps written down as a repetition (unrolled.hpp): what it costs does not
// grow with their number.
RankProgram lower_repeating(const Job& job, int rank, const RunVariant& run = {},
                            RankProgram memory = {});

}  // namespace foreshard
