// PyTorch's optimizer phase: torch.nn.utils.clip_grad_norm_ and torch.optim's AdamW or SGD, parameter by
// parameter in the order of named_parameters().
#pragma once

#include <vector>

#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/pytorch_rules.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/lowering/training/training_buffers.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

class PyTorchOptimizer {
 public:
  PyTorchOptimizer(const Job& job, const RankPlace& place, Emitter& emit, ShardingRuntime& runtime);

  // The first one creates the states.
  void step();

 private:
  struct Item {
    BufferId shard = kNone, gradient = kNone;
    std::int64_t local = 0;  // elements that this rank updates
    ParameterId parameter = kNone;
  };
  std::vector<Item> items() const;
  void step_on_host();
  void clip(const std::vector<Item>& items);
  std::vector<BufferId> norm_scratch(const std::vector<Item>& items);
  void create_states(const std::vector<Item>& items);
  void update(const std::vector<Item>& items);

  BufferId temporary(std::int64_t bytes, Role role = Role::scratch);
  BufferId make(std::string_view op, std::int64_t bytes, std::initializer_list<BufferId> reads);
  void free(std::initializer_list<BufferId> buffers);
  void free_reversed(const std::vector<BufferId>& buffers);

  const Job& job_;
  const Plan& plan_;
  const RankPlace& place_;
  const PyTorchRules rules_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  std::vector<ParameterId> order_;  // named_parameters()
  std::vector<BufferId> states_;    // empty before the first step
};

}  // namespace foreshard::lowering
