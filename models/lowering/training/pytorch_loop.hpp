// The training loop around PyTorch's model, as a program: the set-up, steps, and evaluations after steps.
// What a step does is that of the loop which users write themselves (plain_loop.hpp), or of a trainer
// (trainer_loop.hpp).
#pragma once

#include "models/lowering/script/pytorch_rules.hpp"
#include "models/lowering/training/micro_steps.hpp"
#include "models/lowering/training/model_pass.hpp"
#include "models/lowering/training/pytorch_optimizer.hpp"

namespace foreshard::lowering {

constexpr std::int64_t kTokenBytes = 8;  // of int64

class PyTorchLoop {
 public:
  // The runtime emits through `emit` as well. `evaluation`: the operators of evaluations, where there are
  // any.
  PyTorchLoop(const Job& job, const RankPlace& place, Emitter& emit, ShardingRuntime& runtime,
              OperatorSet operators, OperatorSet evaluation);
  virtual ~PyTorchLoop() = default;

  void setup(Program& target);
  // Step `number`, counted from 1. Each frees what the one before it left.
  void step(Program& target, std::int64_t number, MicroSteps form = MicroSteps::each);

 protected:
  virtual void train(std::int64_t number, MicroSteps form) = 0;
  virtual void evaluate() = 0;

  // The copy is from memory that is not pinned, so that the host waits for it, and for all that the
  // compute stream did before.
  BufferId copied_from_host(std::int64_t bytes, Category category, Role role, bool stays = false);
  void host_waits() { emit_.host_wait(emit_.record(Stream::compute)); }
  void free_shared(Shared which);  // if it is there
  // What goes with the graph: the arguments of blocks that checkpoint reentrantly, and an input that is a
  // leaf of it.
  void free_arguments();

  const Job& job_;
  const Plan& plan_;
  const PyTorchRules rules_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  PyTorchOptimizer optimizer_;
  ModelPass pass_;

 private:
  std::vector<BufferId> allocate_buffers(ModuleId module);
};

}  // namespace foreshard::lowering
