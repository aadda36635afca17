// What Accelerate sets of FSDP's mixed precision where a Trainer runs on it, besides the types that the
// plan names (Accelerator.prepare_model, FullyShardedDataParallelPlugin).
#pragma once

#include "models/plan/plan.hpp"

namespace foreshard {

inline bool runs_in_trainer(const Plan& plan) {
  return plan.pytorch.loop == TrainingLoop::trainer;
}

// FSDP2's output_dtype: what the model returns is cast to the compute type.
inline bool casts_outputs(const Plan& plan) {
  return runs_in_trainer(plan) && plan.runtime == RuntimeName::fsdp2 &&
         plan.precision.param != plan.precision.storage;
}

// FSDP1's buffer_dtype: likewise of the model's buffers, before the first forward.
inline bool casts_buffers(const Plan& plan) {
  return runs_in_trainer(plan) && plan.runtime == RuntimeName::fsdp1 &&
         plan.precision.param != plan.precision.storage;
}

}  // namespace foreshard
