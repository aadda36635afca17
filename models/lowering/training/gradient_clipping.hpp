// Clipping by the total norm of all gradients (torch.nn.utils.clip_grad_norm_): sums of squares of
// this rank's shards, their sum over the ranks, and from it the factor by which updates scale.
#pragma once

#include <vector>

#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/lowering/training/training_buffers.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// The norm and the factor go to `buffers.clip`, or `host_clip` where the host optimizes.
void clip_gradients(const Job& job, const RankPlace& place, Emitter& emit,
                    const std::vector<OptimizerTensors>& tensors, const TrainingBuffers& buffers);

}  // namespace foreshard::lowering
