// FSDP1's NO_SHARD, and every strategy on one rank: the flat parameter stays whole, gradients are
// all-reduced. With mixed precision a copy in the compute type comes and goes.
#pragma once

#include "models/lowering/runtimes/fsdp1.hpp"

namespace foreshard::lowering {

class Fsdp1Whole final : public Fsdp1 {
 public:
  using Fsdp1::Fsdp1;

  void begin_step() override;
  int cycle() const override;
  // FullyShardedDataParallel.clip_grad_norm_ leaves these to torch.nn.utils.
  ClippedGradients clipped_gradients() const override { return ClippedGradients::flat_tensors; }

 private:
  std::vector<Transient> lazy_tensors(UnitId unit) const override;
  void unshard(UnitId unit) override;
  void reshard_after_forward(UnitId unit) override { reshard(unit, Stream::compute); }
  void reshard_after_backward(UnitId unit, Stream current) override { reshard(unit, current); }
  BufferId allocate_flat_gradient(UnitId unit) override;
  void reduce(UnitId unit, BufferId gradient) override;

  void reshard(UnitId unit, Stream current);
  void reduce_sum(UnitId unit);
  void keep_unreduced(UnitId unit, BufferId gradient);
  void reduce_unreduced(UnitId unit, BufferId gradient);
  void all_reduce(UnitId unit, BufferId gradient, DType type);
  std::vector<std::size_t> current_gradients() const;

  std::vector<std::size_t> current_before_;  // this step
};

}  // namespace foreshard::lowering
