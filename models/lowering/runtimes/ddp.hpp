// The sharding runtime `ddp`: PyTorch's DistributedDataParallel, in which every rank has all parameters
// and gradients are all-reduced in buckets (section 2.7 of the reference "FSDP memory and timing
// semantics").
//
// The first iteration has one bucket of the whole model. From the order in which its gradients were
// complete buckets are made anew at the forward that follows; a static graph is looked at for one
// iteration more. Where unused parameters are looked for, the first buckets stay.
#pragma once

#include <span>
#include <vector>

#include "models/lowering/runtimes/tensor_buckets.hpp"
#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// DDP's streams: the compute stream and that of the process group.
namespace ddp_stream {
constexpr Stream all_reduce{1};
}
std::span<const StreamInfo> ddp_streams();

class Ddp final : public ShardingRuntime {
 public:
  Ddp(const Job& job, const RankProgram& program, Emitter& emit);

  void allocate_shards(const ModuleBuffers& buffers_of) override;

  void begin_step() override { has_rebuilt_in_step_ = false; }
  void begin_micro_step(bool is_last) override;
  void begin_evaluation() override { evaluates_ = true; }
  void end_step() override {}
  bool repeats() const override {
    return !rebuilds_buckets() || (has_rebuilt_ && !has_rebuilt_in_step_);
  }

  void unshard_root_before_forward() override {}
  void pre_forward(UnitId unit) override;
  void post_forward(UnitId, bool) override {}
  void pre_backward(UnitId) override {}
  void post_backward(UnitId) override {}
  void pre_forward_in_recompute(UnitId) override {}
  void post_forward_in_recompute(UnitId) override {}
  void final_callback() override;
  void returned(std::span<BufferId*> outputs) override;

  BufferId parameter(ParameterId parameter) const override;
  BufferId gradient(ParameterId) const override { return kNone; }  // autograd adds to none
  BufferId lasting_gradient(ParameterId parameter) override;
  void gradient_ready(ParameterId parameter, BufferId gradient) override;
  void accumulate_gradients() override;

  std::vector<OptimizerTensors> optimizer_tensors() const override;
  ClippedGradients clipped_gradients() const override { return ClippedGradients::tensors; }
  void zero_gradients() override;

 private:
  struct Bucket {
    BufferId buffer = kNone;
    std::vector<ParameterId> parameters;
    std::size_t ready = 0;  // of them, in this iteration
  };
  struct ParameterState {
    BufferId whole = kNone;
    BufferId gradient = kNone;  // a tensor of its own; kNone: none, or a view of the bucket
    std::size_t bucket = 0;
  };

  ParameterState& at(ParameterId p) { return parameters_[static_cast<std::size_t>(p)]; }
  std::int64_t numel(ParameterId p) const {
    return job_.tree.parameters[static_cast<std::size_t>(p)].numel();
  }
  std::int64_t bytes(ParameterId p) const;
  bool has_views() const { return plan_.pytorch.gradient_as_bucket_view; }
  bool is_static() const { return plan_.pytorch.static_graph; }
  bool reduces_now() const;

  // Reducer::should_rebuild_buckets.
  bool rebuilds_buckets() const { return is_static() || !plan_.pytorch.find_unused_parameters; }
  std::vector<std::int64_t> bucket_caps() const;
  void make_first_buckets();
  void make_buckets(const std::vector<ParameterId>& order, const BucketAssignment& assignment);
  void rebuild_buckets();
  std::vector<ParameterId> trained_parameters() const;
  std::vector<SizedTensor> sizes_of(const std::vector<ParameterId>& parameters) const;
  std::vector<SizedTensor> module_states() const;
  std::vector<SizedTensor> buffers() const;
  void broadcast(const std::vector<SizedTensor>& tensors);
  BufferId flattened(const std::vector<SizedTensor>& tensors,
                     const std::vector<std::size_t>& members);
  BufferId kept_gradient(ParameterId parameter);
  bool is_tied(ParameterId parameter) const;
  bool sums_in_place() const;
  BufferId sum_of_uses(ParameterId parameter, BufferId second);
  void accumulate(ParameterId parameter, BufferId gradient);
  void put_into_bucket(ParameterId parameter);
  void all_reduce(Bucket& bucket);
  void free_gradient(ParameterId parameter);

  const Job& job_;
  const Plan& plan_;
  const RankProgram& program_;
  Emitter& emit_;
  const DType type_;
  std::vector<ParameterState> parameters_;  // by ParameterId
  std::vector<BufferId> gradients_;  // those that outlive a step, likewise; kNone: not used yet
  std::vector<Bucket> buckets_;
  std::vector<ParameterId> ready_order_;  // of the first iteration that reduces
  struct ReadyGradient {
    ParameterId parameter;
    BufferId gradient;
  };
  std::vector<ReadyGradient> ready_;  // that accumulate_gradients has not seen yet
  BufferId first_use_ = kNone;        // gradient of a tied parameter, whose second use is to come
  int iterations_ = 0;                // that reduced
  bool is_last_micro_step_ = true;
  bool evaluates_ = false;
  bool broadcasts_ = true;             // buffers, in the forward after one that reduces
  bool has_viewed_gradients_ = false;  // in the buckets
  bool has_rebuilt_ = false, has_rebuilt_in_step_ = false;
};

}  // namespace foreshard::lowering
