// Clipping by the norm of all gradients as PyTorch runs it: torch.nn.utils.clip_grad_norm_, or FSDP1's
// own, which comes to the norm by other requests.
#pragma once

#include <vector>

#include "models/lowering/script/pytorch_rules.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/lowering/training/pytorch_tensors.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// A parameter as an optimizer has it: what this rank updates of it.
struct OptimizedParameter {
  BufferId gradient = kNone;
  std::int64_t local = 0;  // elements
  ParameterId parameter = kNone;
};

class PyTorchClipping {
 public:
  PyTorchClipping(const Job& job, const RankPlace& place, Emitter& emit);

  // `items` in the order of the optimizer's parameters.
  void clip(const std::vector<OptimizedParameter>& items,
            const std::vector<OptimizerTensors>& tensors, ClippedGradients kind);
  // Of gradients on the host: what the device does for them.
  void clip_on_host(ClippedGradients kind);

 private:
  void clip_tensors(const std::vector<OptimizedParameter>& items,
                    const std::vector<OptimizerTensors>& tensors, bool is_sharded);
  void clip_flat_shards(const std::vector<OptimizerTensors>& tensors);
  std::vector<BufferId> norm_scratch(const std::vector<OptimizedParameter>& items);
  std::vector<BufferId> norms_of(const std::vector<OptimizedParameter>& items);
  BufferId norm_of_flat(BufferId gradient, std::int64_t elements);
  BufferId summed_over_ranks(std::int64_t bytes, BufferId norms);
  void sum_over_ranks(BufferId sums);
  BufferId scalar_from_host(bool is_kept);
  void multiply(const std::vector<OptimizerTensors>& tensors, BufferId factor);
  void make_zero();
  void return_norm(BufferId norm);

  const Job& job_;
  const RankPlace& place_;
  const PyTorchRules rules_;
  Emitter& emit_;
  PyTorchTensors tensors_;
  const std::int64_t element_;
  BufferId zero_ = kNone;  // of FSDP1, made by the first call
  BufferId held_norm_ = kNone;  // of the step before, which a trainer holds until it clips again
};

}  // namespace foreshard::lowering
