// The training loop that users of PyTorch write, as a program: zero_grad, micro-batches of forward, loss
// and backward, clip_grad_norm_, optimizer.step().
#pragma once

#include "models/lowering/script/pytorch_rules.hpp"
#include "models/lowering/training/micro_steps.hpp"
#include "models/lowering/training/model_pass.hpp"
#include "models/lowering/training/pytorch_optimizer.hpp"

namespace foreshard::lowering {

class PyTorchLoop {
 public:
  // The runtime emits through `emit` as well.
  PyTorchLoop(const Job& job, const RankPlace& place, Emitter& emit, ShardingRuntime& runtime,
              OperatorSet operators);

  void setup(Program& target);
  // Step `number`, counted from 1. Each frees what the one before it left.
  void step(Program& target, int number, MicroSteps form = MicroSteps::each);

 private:
  void allocate_buffers(ModuleId module);
  void micro_step(int number);
  void load_batch();
  BufferId copy_to_device(Role role);

  const Job& job_;
  const Plan& plan_;
  const PyTorchRules rules_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  PyTorchOptimizer optimizer_;
  ModelPass pass_;
};

}  // namespace foreshard::lowering
