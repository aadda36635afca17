// When parameters are gathered and gradients reduced: the interface of a *sharding runtime*.
//
// The training loop walks the model and calls a hook wherever PyTorch's module hooks fire; operators
// ask for full parameters and hand over gradients; the optimizer gets what there is to update. What
// happens in between (collectives, copies, lifetimes) is the runtime's own.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "models/plan/plan.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::lowering {

// Whether FSDP2 copies gradients in the last micro-step alone to the host that optimizes; where it keeps
// parameters: in all.
inline bool copies_gradients_last(const Plan& plan) {
  return plan.offload.optimizer && !plan.offload.parameters;
}

// Whether the last micro-step of a step does anything that those before it do not.
inline bool last_micro_step_differs(const Plan& plan) {
  if (plan.batch.gradient_sync == When::last) return true;
  return plan.runtime == RuntimeName::fsdp2 &&
         (copies_gradients_last(plan) || plan.batch.all_reduce == When::last ||
          plan.sharding.reshard_after_backward == When::last);
}

// What an optimizer updates at once: the shards of a unit, with one flat gradient; under DDP a
// parameter.
struct OptimizerTensors {
  UnitId unit = kNone;
  std::span<const ParameterShard> parameters;  // in the order of the shards
  std::span<const BufferId> shards;
  std::span<const BufferId> master_shards;  // on the host, where the optimizer keeps its own
  std::int64_t padded = 0, local = 0;       // elements of the shards, with and without padding
  BufferId gradient = kNone;                // on the device; none where it is reduced to the host
  BufferId host_gradient = kNone;
  EventId on_host = kNone;  // the gradient has been copied to the host

  // What the optimizer writes.
  std::span<const BufferId> updated() const {
    return master_shards.empty() ? shards : master_shards;
  }
};

// What clip_grad_norm_ is given, which decides how it comes to the norm of all gradients.
enum class ClippedGradients : std::uint8_t {
  tensors,          // torch.nn.utils.clip_grad_norm_ of plain tensors
  sharded_tensors,  // the same of DTensors, whose norms are summed over the ranks
  flat_tensors,     // FullyShardedDataParallel.clip_grad_norm_ where nothing is sharded
  flat_shards       // and where all is
};

class ShardingRuntime {
 public:
  virtual ~ShardingRuntime() = default;

  // In the set-up: what the rank keeps of every parameter. `buffers_of` allocates a module's buffers,
  // once its parameters are there, and returns them.
  using ModuleBuffers = std::function<std::vector<BufferId>(ModuleId)>;
  virtual void allocate_shards(const ModuleBuffers& buffers_of) = 0;

  virtual void begin_step() = 0;
  virtual void begin_micro_step(bool is_last) = 0;
  // Before a forward without gradients, after the step's backward. What it leaves gathered is there in
  // the next step.
  virtual void begin_evaluation() = 0;
  virtual void end_step() = 0;
  // Whether from the third micro-step on each does what the one before it did, but for a last one that
  // differs (last_micro_step_differs).
  virtual bool repeats_micro_steps() const { return false; }
  // After a step: whether all later ones do what it did.
  virtual bool repeats() const { return true; }
  // Then: after how many steps what it did is done again.
  virtual int cycle() const { return 1; }

  // Hooks, in the order in which they fire.
  virtual void unshard_root_before_forward() = 0;  // model.unshard() while idle
  virtual void pre_forward(UnitId unit) = 0;
  virtual void post_forward(UnitId unit, bool is_root) = 0;
  virtual void pre_backward(UnitId unit) = 0;
  virtual void post_backward(UnitId unit) = 0;
  // A checkpointed block runs its forward again inside backward.
  virtual void pre_forward_in_recompute(UnitId unit) = 0;
  virtual void post_forward_in_recompute(UnitId unit) = 0;
  // Backward has ended: units without a post-backward of their own, then the waits.
  virtual void final_callback() = 0;

  // What the model returns, which may become something else for its caller.
  virtual void returned(std::span<BufferId*> /*outputs*/) {}

  // The full parameter as operators see it.
  virtual BufferId parameter(ParameterId parameter) const = 0;
  // What earlier operators or micro-steps left of a parameter's gradient; kNone where nothing.
  virtual BufferId gradient(ParameterId parameter) const = 0;
  // The buffer for a gradient that an operator is about to make, where it outlives the step.
  virtual BufferId lasting_gradient(ParameterId) { return kNone; }
  // A complete gradient, which now is the runtime's. accumulate_gradients() keeps it, adds it to what
  // there is, or frees it: autograd runs the AccumulateGrad nodes after the node that made it is done.
  virtual void gradient_ready(ParameterId parameter, BufferId gradient) = 0;
  virtual void accumulate_gradients() = 0;

  // By unit; gradients only once backward is done.
  virtual std::vector<OptimizerTensors> optimizer_tensors() const = 0;
  virtual ClippedGradients clipped_gradients() const = 0;
  // optimizer.zero_grad(set_to_none=True).
  virtual void zero_gradients() = 0;
};

}  // namespace foreshard::lowering
