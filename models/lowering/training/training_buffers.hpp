// Buffers of the training loop that live from the set-up to the end of the run.
#pragma once

#include <vector>

#include "models/program/step_program.hpp"

namespace foreshard::lowering {

struct TrainingBuffers {
  BufferId workspace = kNone, rope_table = kNone;
  BufferId loss = kNone, host_loss = kNone;  // of the step, and where the host reads it
  BufferId host_own_loss = kNone;            // this rank's part; of programs that are run
  BufferId clip = kNone, host_clip = kNone;  // gradient norm and factor, likewise
  std::vector<BufferId> staging_tokens, staging_targets;  // on the host, by micro-step
};

// Whether the host runs the optimizer.
inline bool optimizes_on_host(const Plan& plan) {
  return plan.offload.parameters || plan.offload.optimizer;
}

// A key of one type whose dims are a count, and what else it needs.
constexpr CostKey key_of(Operator op, DType dtype, std::int64_t n, std::int64_t m = 0) {
  return {op, dtype, dtype, dtype, {n, m}};
}

}  // namespace foreshard::lowering
