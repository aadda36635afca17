// PyTorch's optimizer phase: torch.nn.utils.clip_grad_norm_ and torch.optim's AdamW or SGD, parameter by
// parameter in the order of named_parameters().
#pragma once

#include <vector>

#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/lowering/training/pytorch_clipping.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

class PyTorchOptimizer {
 public:
  PyTorchOptimizer(const Job& job, const RankPlace& place, Emitter& emit, ShardingRuntime& runtime);

  // The first one creates the states.
  void step();

 private:
  std::vector<OptimizedParameter> items(const std::vector<OptimizerTensors>& tensors) const;
  void step_on_host();
  void create_states(const std::vector<OptimizedParameter>& items);
  void update(const std::vector<OptimizedParameter>& items);
  void update_in_passes(const OptimizerTensors& unit);

  const Plan& plan_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  PyTorchTensors tensors_;
  PyTorchClipping clipping_;
  std::vector<int> position_;     // by ParameterId, among named_parameters()
  std::vector<BufferId> states_;  // empty before the first step
};

}  // namespace foreshard::lowering
