// The final norm, the output projection and the loss as PyTorch runs them: torchtitan's outside of the
// model, transformers' inside its forward.
#pragma once

#include "models/lowering/script/script.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

Segment eager_head(const Job& job);

}  // namespace foreshard::lowering
