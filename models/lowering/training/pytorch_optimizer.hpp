// PyTorch's optimizer phase: torch.nn.utils.clip_grad_norm_ and torch.optim's AdamW or SGD, parameter by
// parameter in the order of named_parameters().
#pragma once

#include <span>
#include <string_view>
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

  // A call over lists of tensors: what it reads and writes of each element.
  struct ForeachPass {
    std::string_view op;
    std::int64_t reads, writes;
  };

 private:
  std::vector<OptimizedParameter> items(const std::vector<OptimizerTensors>& tensors) const;
  // A group of parameters, which are stepped one group after the other. Kernels go over whole units:
  // those of `tensors`.
  struct ParameterGroup {
    std::vector<OptimizedParameter> items;
    std::vector<OptimizerTensors> tensors;
    std::size_t begin = 0;  // of the items, among those of all groups
    bool is_first_step = false;
  };
  std::vector<ParameterGroup> groups(const std::vector<OptimizedParameter>& all,
                                     const std::vector<OptimizerTensors>& tensors) const;
  bool decays(const OptimizedParameter& item) const;
  void step_on_host();
  void adamw(const ParameterGroup& group);
  void sgd(const ParameterGroup& group);
  BufferId state(const OptimizedParameter& item, std::int64_t bytes, Role role);
  std::int64_t bytes_of(const OptimizedParameter& item) const;
  bool has_momentum() const { return plan_.optimizer.momentum > 0; }
  void update(Operator op, const std::vector<OptimizerTensors>& tensors);
  void update_in_passes(std::span<const ForeachPass> passes,
                        const std::vector<OptimizerTensors>& tensors);

  const Job& job_;
  const Plan& plan_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  PyTorchTensors tensors_;
  PyTorchClipping clipping_;
  std::vector<int> position_;     // by ParameterId, among named_parameters()
  std::vector<BufferId> states_;  // empty before the first step
};

}  // namespace foreshard::lowering
