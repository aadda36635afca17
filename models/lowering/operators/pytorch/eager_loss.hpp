// The loss as PyTorch runs it: cross-entropy of all logits at once, one operator after another or
// compiled into two kernels.
#pragma once

#include "models/lowering/operators/pytorch/eager_writer.hpp"

namespace foreshard::lowering {

// Whether the model itself returns its logits in fp32, as torchtitan's did while its training loop held a
// reference to them; otherwise the loss makes them fp32.
bool model_widens_logits(const EagerWriter& w);

Segment eager_loss(const Job& job, GradMode grad);

}  // namespace foreshard::lowering
