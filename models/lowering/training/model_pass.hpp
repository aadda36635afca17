// One micro-step's way through the model and back: runs the operator set's scripts at their places and
// fires the sharding runtime's hooks.
#pragma once

#include <optional>
#include <vector>

#include "models/lowering/script/grad_mode.hpp"
#include "models/lowering/script/script_runner.hpp"
#include "models/lowering/training/activation_offload.hpp"

namespace foreshard::lowering {

class ModelPass {
 public:
  // The runtime emits through `emit` as well.
  ModelPass(const Job& job, Emitter& emit, ShardingRuntime& runtime, OperatorSet operators);

  // Operators of the same model, for a forward without gradients.
  void add_evaluation(OperatorSet operators);

  // What segments share: tokens, targets and so on.
  BufferId& operator[](Shared which) { return runner_[which]; }

  void allocate_host_copies();  // in the set-up, where activations are offloaded

  void forward();   // to the loss
  void evaluate();  // the same without gradients
  void backward();  // to the runtime's final callback

 private:
  void bind(OperatorSet& operators);
  void place_segments();
  void forward(const OperatorSet& operators, GradMode grad);
  void loss(const Script& script);
  void recompute(Frame& block);
  void leave_autocast();
  void embedding_backward(BufferId gradient);
  Frame frame(const Segment& segment, const Placement& placement) const;

  const Job& job_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  OperatorSet operators_, evaluation_;
  HookTable hooks_;
  HookWalk walk_, recompute_walk_;
  ScriptRunner runner_;
  Placement embedding_place_, head_place_, loss_place_;
  std::vector<Placement> layers_;
  ModuleId rotary_ = kNone;  // runs before the layers where the implementation has it
  std::vector<Slot> kept_, kept_checkpointed_;  // slots of a block
  std::optional<ActivationOffload> offload_;
  std::vector<Frame> blocks_;  // of the micro-step at hand
  Frame head_, loss_;
};

}  // namespace foreshard::lowering
