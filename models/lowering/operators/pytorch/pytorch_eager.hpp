// The operator set `pytorch-eager`: a Llama of torchtitan's or transformers' code, as PyTorch's eager
// mode runs it, every tensor allocated and freed where PyTorch does it. For prediction only.
//
// Files: how scripts are written (eager_writer), norm, rotary embedding, attention and its math path,
// then the segments: embedding, block, head and loss. What differs between versions of PyTorch stands
// in script/pytorch_rules.
#pragma once

#include "models/lowering/script/script.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

OperatorSet pytorch_eager_operators(const Job& job);

}  // namespace foreshard::lowering
