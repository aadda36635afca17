// The operator set `foreshard`: what the executor runs. Fused operators: RMSNorm, RoPE in place,
// attention without a materialised score matrix, SwiGLU, whole cross-entropy whose gradient overwrites
// the logits.
#pragma once

#include "models/lowering/script/script.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

OperatorSet foreshard_operators(const Job& job);

}  // namespace foreshard::lowering
