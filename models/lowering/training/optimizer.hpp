// The optimizer phase: norms and clipping, states, updates, zero_grad. Foreshard's optimizers are
// fused: one kernel for all shards of a unit, on the device or by the host.
#pragma once

#include <functional>
#include <vector>

#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/lowering/training/run_variant.hpp"
#include "models/lowering/training/training_buffers.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

class Optimizer {
 public:
  Optimizer(const Job& job, const RankPlace& place, Emitter& emit, ShardingRuntime& runtime,
            const TrainingBuffers& buffers, const RunVariant& run);

  // The first one creates the states, as zeros or those of the checkpoint that the run goes on from.
  // `before_update` emits what stands between the norm and the first update.
  void step(const std::function<void()>& before_update = {});

  // Of a unit, in the order in which the update takes them; nothing before the first step.
  std::span<const BufferId> states(UnitId unit) const {
    return states_[static_cast<std::size_t>(unit)];
  }

 private:
  void create_states(const OptimizerTensors& tensors);
  void restore_states(const OptimizerTensors& tensors);
  void update(const OptimizerTensors& tensors);

  const Job& job_;
  const Plan& plan_;
  const RankPlace& place_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  const TrainingBuffers& buffers_;
  const RunVariant run_;
  // By unit: exp_avg of its parameters, then exp_avg_sq.
  std::vector<std::vector<BufferId>> states_;
};

}  // namespace foreshard::lowering
