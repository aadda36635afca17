// The training loop as a program: a set-up and steps of micro-steps, each a walk through the model that
// runs the operator set's scripts and fires the sharding runtime's hooks.
#pragma once

#include <optional>
#include <vector>

#include "models/lowering/script/script_runner.hpp"
#include "models/lowering/training/activation_offload.hpp"
#include "models/lowering/training/optimizer.hpp"
#include "models/lowering/training/training_buffers.hpp"

namespace foreshard::lowering {

class TrainingLoop {
 public:
  // Of the rank at `place`. The runtime emits through `emit` as well.
  TrainingLoop(const Job& job, const RankPlace& place, Emitter& emit, ShardingRuntime& runtime,
               OperatorSet operators, const RunVariant& run);

  // How a step's micro-steps are written down: one by one, or as a repetition where there is one.
  enum class MicroSteps : std::uint8_t { each, repeated };

  void setup(Program& target);
  void step(Program& target, MicroSteps form = MicroSteps::each);
  // What follows the last step: copies of the parameters, or of the optimizer's states, to memory of the
  // host, which stays. Each comes after a step.
  void keep_parameters(Program& target);
  void keep_states(Program& target);

 private:
  template <typename BuffersOf>
  void keep_on_host(Program& target, const BuffersOf& buffers_of);
  void place_segments();
  void allocate_buffers();
  void initialize_shards();
  void micro_steps(MicroSteps form);
  void micro_step(int number);
  std::vector<int> written_micro_steps() const;
  void load_batch(int number);
  void forward();
  void loss();
  void backward();
  void recompute(Frame& block);
  void report();

  bool is_checkpointed(std::size_t layer) const;
  Frame frame(const Segment& segment, const Placement& placement) const;

  const Job& job_;
  const Plan& plan_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  OperatorSet operators_;
  TrainingBuffers buffers_;
  Optimizer optimizer_;
  HookTable hooks_;
  HookWalk walk_, recompute_walk_;
  ScriptRunner runner_;
  Placement embedding_place_, head_place_, loss_place_;
  std::vector<Placement> layers_;
  ModuleId rotary_ = kNone;  // runs before the layers where the implementation has it
  std::vector<Slot> kept_, kept_checkpointed_;  // slots of a block
  std::optional<ActivationOffload> offload_;
  std::vector<Frame> blocks_;  // of the micro-step at hand
  Frame head_;
};

}  // namespace foreshard::lowering
