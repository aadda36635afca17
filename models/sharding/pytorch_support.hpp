// What is described of PyTorch so far, and what a plan may therefore choose.
#pragma once

#include <string>
#include <vector>

#include "models/plan/plan.hpp"

namespace foreshard {

// The type that matrix products and attention compute in: autocast's over fp32 parameters.
DType compute_type(const Plan& plan);

// Where the model is built; where the plan leaves it open, as is usual under its runtime.
ModelSetup model_setup(const Plan& plan);

// Whether blocks are recomputed by CheckpointFunction, whose backward runs one of its own, and not by hooks
// on what was saved.
bool checkpoints_reentrantly(const Plan& plan);
// Whether a block's own hooks run in its recomputation as in a forward: those of FSDP2 stand on the module
// that checkpoints itself, which FSDP1 wraps.
bool recomputes_with_hooks(const Plan& plan);

// Refuses settings whose memory is not described.
Result<void> check_pytorch_support(const Plan& plan, const std::string& file);

// A sentence for each setting that is answered as another one.
std::vector<std::string> pytorch_approximations(const Plan& plan);

}  // namespace foreshard
