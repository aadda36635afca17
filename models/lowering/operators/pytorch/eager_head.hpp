// The final norm, the output projection and the loss as PyTorch runs them: torchtitan's outside of the
// model, transformers' inside its forward.
#pragma once

#include "models/lowering/operators/pytorch/eager_writer.hpp"

namespace foreshard::lowering {

Segment eager_head(const Job& job, GradMode grad);

}  // namespace foreshard::lowering
