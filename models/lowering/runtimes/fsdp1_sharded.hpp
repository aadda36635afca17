// FSDP1's strategies that shard: FULL_SHARD, SHARD_GRAD_OP and, over the ranks of a group, the hybrid ones
// (sections 2.2, 2.3 and 2.5).
#pragma once

#include "models/lowering/runtimes/fsdp1.hpp"
#include "models/lowering/runtimes/rate_limiter.hpp"

namespace foreshard::lowering {

class Fsdp1Sharded final : public Fsdp1 {
 public:
  Fsdp1Sharded(const Job& job, const RankPlace& place, Emitter& emit);

  void begin_step() override { limiter_.begin_step(); }
  // An evaluation leaves another number of events to the limiter than a step without one.
  bool repeats() const override { return plan_.evaluation.every > 0 || limiter_.repeats(); }
  ClippedGradients clipped_gradients() const override { return ClippedGradients::flat_shards; }

 private:
  std::vector<Transient> lazy_tensors(UnitId unit) const override;
  void unshard(UnitId unit) override;
  void reshard_after_forward(UnitId unit) override;
  void reshard_after_backward(UnitId unit, Stream current) override;
  void reduce(UnitId unit, BufferId gradient) override;
  std::vector<Stream> reduction_streams() const override;

  BufferId allocate_full(UnitId unit, std::int64_t bytes);
  void drop_device_shard(UnitId unit);
  void free_unsharded(UnitId unit, Stream current);
  void keep_unreduced(UnitId unit, BufferId gradient);
  BufferId scatter(UnitId unit, BufferId padded);
  bool is_replicated() const { return place_[Group::replicate].size > 1; }

  const bool frees_after_forward_;
  // After forward the original parameters stay views of what was gathered (skip_use_sharded_views), so
  // that an offloaded shard stays on the device.
  const bool skips_sharded_views_;
  RateLimiter limiter_;
};

}  // namespace foreshard::lowering
