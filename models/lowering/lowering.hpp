// Lowers a job to one rank's programs. The parts: `operator_graph.hpp` (what is computed),
// `fsdp2.hpp` (when parameters are gathered and gradients reduced), `hooks.hpp` (which module fires
// which hook), `segment_runner.hpp` (operators to instructions), and this skeleton.
#pragma once

#include <algorithm>

#include "models/lowering/hooks.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

class Lowering {
 public:
  Lowering(const Job& job, RankProgram& program);

  void setup(Program& target);
  void step(Program& target, bool is_first);

 private:
  void micro_step(int number);
  void forward();
  void loss();
  void backward();
  void recompute(PlacedSegment& block);

  bool is_checkpointed(std::size_t layer) const;
  const std::vector<bool>& kept_by(std::size_t layer) const;

  // offload.activations: what a block keeps goes to the host once its forward is issued, leaves the
  // device once the next block's is, and returns one block ahead of its backward.
  void allocate_activation_copies();
  void offload_activations(std::size_t layer);
  void bring_back_activations(std::size_t layer);
  void fetch_activations(std::size_t layer);

  void allocate_shards();
  void initialize_shards();
  void optimizer_step(bool is_first);
  BufferId gradient_norms();
  void clip_on_device(BufferId norms);
  void clip_on_host(BufferId norms);
  void create_states(UnitId unit);
  void update(UnitId unit);
  void report();

  bool optimizes_on_host() const { return plan_.offload.parameters || plan_.offload.optimizer; }

  static constexpr std::size_t kStreamIn = 0;  // every segment's first slot: the residual stream

  const Job& job_;
  const Plan& plan_;
  RankProgram& program_;
  Emitter emit_;
  OperatorSet operators_;
  PersistentBuffers persistent_;
  Fsdp2 runtime_;
  SegmentRunner runner_;
  std::vector<ModuleId> layers_;
  ModuleId rotary_ = kNone;  // runs before the layers where the implementation has it
  std::vector<bool> block_needs_;
  Recomputation checkpointed_;
  std::vector<PlacedSegment> blocks_;  // of the micro-step at hand
  PlacedSegment head_;
  struct ActivationCopies {
    std::vector<BufferId> host;  // by slot
    EventId on_host = kNone, on_device = kNone;
  };
  std::vector<ActivationCopies> copies_;  // by layer
};

}  // namespace foreshard::lowering
