// The sharding runtime `fsdp2`: when units are gathered, kept and reduced, as PyTorch 2.11's
// fully_shard does it. Section numbers in comments are those of the reference "FSDP memory and
// timing semantics"; function names in the comments are PyTorch's.
//
// Under operators "foreshard" it does what PyTorch 2.11's does, but for scratch of PyTorch's own kernels;
// under operators that describe PyTorch it is PyTorch's of the plan's version, scratch included.
//
// Files: the hooks and prefetching (fsdp2.cpp), the set-up (fsdp2_shards.cpp), gathering
// (fsdp2_unshard.cpp), gradients on their way to a unit (fsdp2_gradients.cpp), their reduction
// (fsdp2_reduce.cpp) and what comes of it (fsdp2_sharded_gradients.cpp), scratch (fsdp2_scratch.cpp).
#pragma once

#include <optional>
#include <vector>

#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/pytorch_rules.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

class Fsdp2 final : public ShardingRuntime {
 public:
  Fsdp2(const Job& job, const RankProgram& program, Emitter& emit);

  // On the host with offload.parameters; with offload.optimizer master copies on the host besides.
  void allocate_shards(const ModuleBuffers& buffers_of) override;

  void begin_step() override;
  void begin_micro_step(bool is_last) override;
  void begin_evaluation() override;
  void end_step() override;
  bool repeats_micro_steps() const override { return true; }

  void unshard_root_before_forward() override;
  void pre_forward(UnitId unit) override;
  void post_forward(UnitId unit, bool is_root) override;
  void pre_backward(UnitId unit) override;
  void post_backward(UnitId unit) override;
  void pre_forward_in_recompute(UnitId unit) override;
  void post_forward_in_recompute(UnitId unit) override;
  void returned(std::span<BufferId*> outputs) override;
  void final_callback() override;  // _root_post_backward_final_callback

  BufferId parameter(ParameterId parameter) const override;
  BufferId gradient(ParameterId parameter) const override;
  // AccumulateGrad (1.11).
  void gradient_ready(ParameterId parameter, BufferId gradient) override;
  void accumulate_gradients() override;

  std::vector<OptimizerTensors> optimizer_tensors() const override;
  ClippedGradients clipped_gradients() const override { return ClippedGradients::sharded_tensors; }
  void zero_gradients() override;

 private:
  enum class State : std::uint8_t { forward, pre_backward, idle };

  struct UnitState {
    State state = State::idle;
    bool is_unsharded = false;
    bool is_kept_after_forward = false;  // slices for the post-forward group are alive
    bool has_gathered = false;           // an unshard that nobody has waited for
    bool is_async = false;               // of the last unshard: its collective was asynchronous
    bool post_backward_done = false;
    BufferId gathered = kNone;
    EventId gathered_event = kNone;  // none where the compute stream gathered
    EventId kept_event = kNone;
    std::vector<BufferId> unsharded, kept, gradients, accumulated;
    std::vector<BufferId> stale;      // slices of a forward whose backward did not gather the unit
    bool gradients_are_wide = false;  // autograd has cast them to the reduce type
    std::vector<int> post_forward_indices;
    BufferId all_reduce_input = kNone;  // held until finalize_backward
    BufferId partial_reduction = kNone;
    std::optional<EventId> post_reduce;
    BufferId reduced = kNone;  // the sharded gradient in the storage type, one flat buffer
    EventId on_host = kNone;   // offloaded copy of it
  };
  struct Pending {  // comm_ctx.all_gather_state and reduce_scatter_state
    BufferId buffer = kNone;
    EventId event = kNone;
  };

  UnitState& at(UnitId unit) { return states_[static_cast<std::size_t>(unit)]; }
  const UnitLayout& layout(UnitId unit) const {
    return program_.units[static_cast<std::size_t>(unit)];
  }
  const RankPlace::Membership& group(Group g) const { return program_.place[g]; }
  // Of the unit's parameters those that train: what has gradients and what the optimizer is given.
  const UnitLayout& trained(UnitId unit) const {
    return trained_.empty() ? layout(unit) : trained_[static_cast<std::size_t>(unit)];
  }
  const Parameter& parameter_of(const ParameterShard& shard) const {
    return job_.tree.parameters[static_cast<std::size_t>(shard.parameter)];
  }
  // The type in which operators see a parameter; and a unit's elements, padded, counted in the compute
  // type.
  DType type_of(const ParameterShard& shard) const;
  std::int64_t gathered_elements(UnitId unit) const;
  bool is_managed(UnitId unit) const { return !layout(unit).parameters.empty(); }

  // What stays from the set-up to the end of the run.
  struct UnitShards {
    std::vector<BufferId> shards;           // on the host with offload.parameters
    std::vector<BufferId> trained;          // of them, those of parameters that train
    BufferId gradient = kNone;              // of PyTorch, which frees it in the next step
    std::vector<BufferId> master_shards;    // host, offload.optimizer
    std::vector<BufferId> unsharded, kept;  // what an evaluation leaves gathered
    std::vector<BufferId> stale;            // what a step leaves to the next one
    BufferId host_gradient = kNone;         // flat, host optimizer only
  };
  const UnitShards& held(UnitId unit) const { return held_[static_cast<std::size_t>(unit)]; }

  void focus(UnitId unit);  // what follows belongs to this unit
  void unshard(UnitId unit);
  void begin_forward();
  BufferId allocate_gathered(std::vector<BufferId> UnitShards::*lasting, UnitId unit,
                             std::size_t parameter, Emitter::BufferSpec spec);
  void gather_from_shards(UnitId unit, Stream copy_in, Stream gather);
  void gather_from_kept(UnitId unit, Stream copy_in, Stream gather);
  void issue_all_gather(UnitId unit, Stream copy_in, Stream gather, Group over, std::int64_t slice,
                        std::span<const BufferId> inputs);
  void wait_for_unshard(UnitId unit);
  void copy_out(UnitId unit);
  bool copies_alone() const;  // a shard group of one, which gathers nothing
  bool reads_shards() const;  // operators do, as gathering would only copy them
  void copy_from_shards(UnitId unit);
  void write_from_shards(UnitId unit);
  void copy_to_device(const ParameterShard& parameter, BufferId shard, BufferId target);
  void all_gather_streams_wait(EventId event);
  void release_all_gather_state();
  void drop_gathered(UnitId unit);
  void reshard(UnitId unit);
  void reshard_to_group(UnitId unit);
  void root_pre_forward(UnitId unit);
  void end_iteration(UnitId unit);
  void prefetch(UnitId target, State state);
  std::vector<UnitId> explicit_targets(UnitId unit, std::int64_t depth, int direction) const;
  void prefetch_forward(UnitId unit);
  void prefetch_backward(UnitId unit);

  void add_to_accumulated(UnitId unit);
  void keep_unsharded_gradients(UnitId unit);
  void reduce_gradients(UnitId unit);
  BufferId cut_into_columns(UnitId unit, std::vector<BufferId>& gradients, DType type);
  struct ReducedGradient {
    BufferId output;  // of the reduction
    BufferId values;  // where they lie: there, or in the input still
    DType type;
  };
  void take_sharded_gradient(UnitId unit, const ReducedGradient& sum, Stream stream,
                             std::vector<BufferId>& late);
  void copy_gradient_to_host(UnitId unit, BufferId gradient, Stream stream);
  void finalize(UnitId unit);

  bool reduces_now() const;
  bool all_reduces_now() const;
  bool reshards_after_backward() const;

  void allocate_as_pytorch(const ModuleBuffers& buffers_of);
  void give_shards_storage(const ModuleBuffers& buffers_of);
  void shard_whole_parameters(const ModuleBuffers& buffers_of);
  BufferId cut_shard(const ParameterShard& shard, BufferId whole);
  BufferId allocate_shard(const ParameterShard& shard, std::int64_t elements);
  void allocate_masters(UnitId unit);
  UnitLayout trained_part(UnitId unit);
  void select_trained();
  void pad_shards(UnitId unit);
  void pad_shards_again();
  void scratch_of_copy_out(UnitId unit, std::int64_t ranks);
  void scratch_of_copy_in(UnitId unit);
  void release_reduce_scatter_state();
  BufferId allocate_sharded_gradient(UnitId unit, const Emitter::BufferSpec& spec);

  std::int64_t uses_of(ParameterId parameter) const;
  bool widens(ParameterId parameter);
  BufferId widened(ParameterId parameter, BufferId gradient);
  BufferId& gradient_of(ParameterId parameter);
  void keep_or_add(ParameterId parameter, BufferId gradient);
  void keep_sum(ParameterId parameter, BufferId first, BufferId second);

  const Job& job_;
  const Plan& plan_;
  const RankProgram& program_;
  Emitter& emit_;
  const bool is_pytorch_;
  const PyTorchRules rules_;
  std::vector<UnitLayout> trained_;  // by unit; none where all parameters train
  std::vector<UnitShards> held_;
  struct ReadyGradient {
    ParameterId parameter;
    BufferId gradient;
  };
  std::vector<ReadyGradient> ready_;      // that accumulate_gradients has not seen yet
  std::vector<ReadyGradient> first_use_;  // of a tied parameter, whose second use is to come
  std::vector<UnitState> states_;
  std::vector<UnitId> unit_of_layer_;  // unit that wraps exactly a decoder layer, or kNone
  std::vector<std::int32_t> layer_of_unit_;
  std::vector<bool> stays_sharded_in_backward_;  // by unit
  std::vector<AfterForward> after_forward_;      // by unit
  struct ParameterPlace {
    UnitId unit;
    std::int32_t index;
    std::int32_t trained = kNone;  // index among those of the unit that train
  };
  std::vector<ParameterPlace> places_;  // by ParameterId
  std::vector<UnitId> post_forward_order_;
  std::vector<BufferId> copied_out_;  // of the unit at hand, kept to save allocations
  Pending all_gather_state_, reduce_scatter_state_;
  bool is_last_micro_step_ = true;
  bool evaluates_ = false;
  bool has_run_forward_ = false;
  UnitId iteration_root_ = kNone;  // that began the forward at hand (iter_forward_root)
  const DType trained_storage_;    // of the parameters that train, and of their sharded gradients
  DType gradient_type_, reduce_type_;
};

}  // namespace foreshard::lowering
