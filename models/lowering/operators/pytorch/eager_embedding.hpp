// The embedding as PyTorch runs it, and of transformers what follows it before the first block: position
// ids, the mask's test for packed sequences, and the tables of angles.
#pragma once

#include "models/lowering/operators/pytorch/eager_writer.hpp"

namespace foreshard::lowering {

Segment eager_embedding(const Job& job, GradMode grad);

}  // namespace foreshard::lowering
