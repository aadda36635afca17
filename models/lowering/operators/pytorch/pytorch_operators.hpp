// The operator sets `pytorch-eager` and `pytorch-compile`: a Llama of torchtitan's or transformers' code
// as PyTorch runs it, every tensor allocated and freed where PyTorch does it. For prediction only.
//
// Files: how scripts are written (eager_writer), norm, rotary embedding, attention and its math path,
// then the segments in eager mode: embedding, block, head and losses. Compiled: graphs and the planning
// of their memory (compiled_graph), the block. What differs between versions of PyTorch stands in
// script/pytorch_rules.
#pragma once

#include "models/lowering/script/grad_mode.hpp"
#include "models/lowering/script/script.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// With gradients: of training. Without: of evaluation, a forward alone.
OperatorSet pytorch_operators(const Job& job, GradMode grad);

}  // namespace foreshard::lowering
