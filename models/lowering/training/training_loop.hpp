// Foreshard's own training loop as a program: a set-up, steps of micro-steps, and what follows the last.
#pragma once

#include <vector>

#include "models/lowering/training/micro_steps.hpp"
#include "models/lowering/training/model_pass.hpp"
#include "models/lowering/training/optimizer.hpp"
#include "models/lowering/training/training_buffers.hpp"

namespace foreshard::lowering {

class TrainingLoop {
 public:
  // Of the rank at `place`. The runtime emits through `emit` as well.
  TrainingLoop(const Job& job, const RankPlace& place, Emitter& emit, ShardingRuntime& runtime,
               OperatorSet operators, const RunVariant& run);

  void setup(Program& target);
  void step(Program& target, MicroSteps form = MicroSteps::each);
  // What follows the last step: copies of the parameters, or of the optimizer's states, to memory of the
  // host, which stays. Each comes after a step.
  void keep_parameters(Program& target);
  void keep_states(Program& target);

 private:
  template <typename BuffersOf>
  void keep_on_host(Program& target, const BuffersOf& buffers_of);
  void allocate_buffers();
  void initialize_shards();
  void micro_step(int number);
  void load_batch(int number);
  void report();

  const Job& job_;
  const Plan& plan_;
  const bool reports_before_update_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  TrainingBuffers buffers_;
  Optimizer optimizer_;
  ModelPass pass_;
};

}  // namespace foreshard::lowering
