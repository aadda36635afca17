// The sharding runtime `fsdp1`: PyTorch's FullyShardedDataParallel, which keeps the parameters of a unit
// in one flat tensor. Section numbers in comments are those of the reference "FSDP memory and timing
// semantics"; function names in the comments are PyTorch's.
//
// What differs from fsdp2 at a glance. Operators read the all-gather's output itself: nothing is copied
// out. Memory of one stream is used on others, and record_stream defers its reuse until these have passed
// the free. The host waits before it gathers too far ahead (rate_limiter.hpp). The gradients of a unit are
// concatenated by autograd, in the backward of the split that made its parameters: on the stream that
// gathered them, and not before all that came after the split is done.
//
// Fsdp1 is what all strategies share: hooks and prefetching (fsdp1.cpp), the set-up (fsdp1_setup.cpp) and
// gradients up to the flat one (fsdp1_gradients.cpp). Fsdp1Sharded (fsdp1_sharded.hpp) gathers shards and
// scatters gradients; Fsdp1Whole (fsdp1_whole.hpp) is NO_SHARD, and every strategy on one rank.
#pragma once

#include <array>
#include <vector>

#include "models/lowering/runtimes/fsdp1_streams.hpp"
#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/sharding/flat_parameters.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

class Fsdp1 : public ShardingRuntime {
 public:
  Fsdp1(const Job& job, const RankPlace& place, Emitter& emit);

  void allocate_shards(const ModuleBuffers& buffers_of) override;

  void begin_step() override {}
  void begin_micro_step(bool is_last) override;
  void begin_evaluation() override { evaluates_ = true; }
  void end_step() override {}

  void unshard_root_before_forward() override {}
  void pre_forward(UnitId unit) override;
  void post_forward(UnitId unit, bool is_root) override;
  void pre_backward(UnitId unit) override;
  void post_backward(UnitId unit) override;
  void pre_forward_in_recompute(UnitId unit) override;
  void post_forward_in_recompute(UnitId unit) override;
  void final_callback() override;  // _post_backward_final_callback

  BufferId parameter(ParameterId parameter) const override;
  BufferId gradient(ParameterId) const override { return kNone; }  // autograd adds to none
  void gradient_ready(ParameterId parameter, BufferId gradient) override;
  void accumulate_gradients() override;

  std::vector<OptimizerTensors> optimizer_tensors() const override;
  void zero_gradients() override;

 protected:
  struct UnitState {
    BufferId full = kNone;         // what operators see, while it is unsharded
    bool has_gradients = true;     // any of its parameters trains
    bool returns_gradient = true;  // a gradient is computed for what its module returns
    BufferId on_device = kNone;  // an offloaded shard in its own type, until the unit is resharded
    bool is_prefetched = false;
    bool needs_unshard_in_forward = false, needs_unshard_in_backward = false;
    bool is_in_backward = false;
    int post_forward_index = kNone;
    // When its forward began, and when its parameters were split off the full one, which may have been
    // in the forward of the unit before: counted in forwards of units.
    int entered = 0, split = 0;
    std::vector<BufferId> gradients;  // of its parameters, in their order
    std::size_t complete = 0;         // of them
    BufferId unreduced = kNone;       // flat gradient of earlier micro-steps, not reduced yet
    bool has_gradient = false;        // the reduced one of Held is there
  };
  // What stays from the set-up to the end of the run.
  struct Held {
    BufferId shard = kNone;  // on the host with offload.parameters
    BufferId full = kNone;   // what an evaluation leaves gathered
    BufferId host_gradient = kNone;
    // The reduced gradient lies in one of two buffers, as a sum that is cast is replaced.
    std::array<BufferId, 2> gradients = {kNone, kNone};
    std::size_t current = 0;
    BufferId gradient() const { return gradients[current]; }
  };

  // The same for all strategies but for what they do with a flat parameter and a flat gradient.

  // init_flat_param_attributes, at the first forward: elements and types of tensors made and dropped.
  struct Transient {
    std::int64_t elements;
    DType type;
  };
  virtual std::vector<Transient> lazy_tensors(UnitId unit) const = 0;
  // _unshard: from the flat shard to what operators see, unless that is there.
  virtual void unshard(UnitId unit) = 0;
  // _reshard; the hook after backward runs on the unshard stream.
  virtual void reshard_after_forward(UnitId unit) = 0;
  virtual void reshard_after_backward(UnitId unit, Stream current) = 0;
  virtual BufferId allocate_flat_gradient(UnitId unit);
  // A flat gradient: AccumulateGrad, and the reduction where it is due.
  virtual void reduce(UnitId unit, BufferId gradient) = 0;
  virtual std::vector<Stream> reduction_streams() const { return {fsdp1_stream::post_backward}; }

  UnitState& at(UnitId unit) { return states_[static_cast<std::size_t>(unit)]; }
  Held& held(UnitId unit) { return held_[static_cast<std::size_t>(unit)]; }
  std::span<const Held> all_held() const { return held_; }
  const FlatParameter& flat(UnitId unit) const { return flat_[static_cast<std::size_t>(unit)]; }
  bool evaluates() const { return evaluates_; }
  bool casts() const { return plan_.precision.param != plan_.precision.storage; }
  bool reduces_now() const;

  // The flat shard in the compute type and on the device; a new buffer of the pre-unshard stream where
  // it is not.
  BufferId shard_to_gather(UnitId unit);
  void drop(BufferId& buffer, Stream last_user);

  void add_to(BufferId sum, DType type, BufferId gradient, std::int64_t elements);
  // A tensor for a unit's gradient. Of the storage type it is the one that the optimizer gets, if
  // that is not there yet.
  BufferId allocate_gradient(UnitId unit, std::int64_t elements, DType type, Stream pool);
  BufferId allocate_kept_gradient(UnitId unit, std::int64_t elements, Stream pool);
  BufferId cast(UnitId unit, BufferId gradient, DType from, DType to, std::int64_t elements,
                Stream stream);
  void divide(BufferId gradient, double factor, Stream stream);
  double predivide_factor() const;
  double postdivide_factor() const;
  void copy_to_host(UnitId unit, Stream stream);
  // Parameters of their own are given gradients of their own, dropped for views of the flat one.
  void allocate_placeholders(UnitId unit);

  const Job& job_;
  const Plan& plan_;
  const RankPlace& place_;
  Emitter& emit_;
  const DType gradient_type_, reduce_type_;

 private:
  bool is_managed(UnitId unit) const { return flat(unit).numel > 0; }
  void focus(UnitId unit);
  void flatten(UnitId unit, std::vector<BufferId> originals);
  Emitter::BufferSpec shard_of(std::int64_t elements, bool on_host) const;
  BufferId concatenate_whole(UnitId unit, const std::vector<BufferId>& originals);
  void cut_shard(UnitId unit, BufferId& kept);

  void root_pre_forward();
  void initialize_attributes();
  void cast_buffers();
  void split(UnitId unit);
  void prefetch_forward(UnitId unit);
  void prefetch_backward(UnitId unit);

  void run_splits_backward(int since);
  void reshard_frozen(UnitId unit);
  void run_split_backward(UnitId unit);
  BufferId concatenate(UnitId unit);
  void free_gradients();
  void free_gradients_without_views();
  void free_gradient(UnitId unit);

  const std::vector<FlatParameter> flat_;
  std::vector<std::vector<ParameterShard>> trained_;  // by unit: pieces that the optimizer is given
  std::vector<UnitState> states_;
  std::vector<Held> held_;
  struct ParameterPlace {
    UnitId unit = kNone;
    std::size_t index = 0;
  };
  std::vector<ParameterPlace> places_;  // by ParameterId
  struct ReadyGradient {
    ParameterId parameter;
    BufferId gradient;
  };
  std::vector<ReadyGradient> ready_;        // that accumulate_gradients has not seen yet
  std::vector<UnitId> complete_;            // units whose gradients are, but not concatenated
  std::vector<UnitId> pre_forward_order_;   // of the run's first micro-step
  std::vector<UnitId> post_forward_order_;  // of this one
  int clock_ = 0;                           // of forwards and splits in this micro-step
  bool is_last_micro_step_ = true;
  bool evaluates_ = false;
  std::vector<BufferId> buffers_;  // of modules
  bool is_initialized_ = false, has_order_ = false;
  bool clears_gradients_ = false;  // zero_grad has dropped all views of the sharded ones
};

}  // namespace foreshard::lowering
