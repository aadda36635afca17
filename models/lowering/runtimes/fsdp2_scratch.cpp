// Scratch of PyTorch's fused copies into and out of flat buffers: the offsets that their kernels are
// handed, 64 bits each (reference: pytorch-operators.md, "Metadata of FSDP2's fused copies").
#include <algorithm>
#include <cmath>

#include "models/lowering/runtimes/fsdp2.hpp"
#include "models/sharding/cuda_device.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kBlock = 2048;  // bytes that a block of threads copies

constexpr std::int64_t blocks_of(std::int64_t bytes, std::int64_t block) {
  return (bytes + block - 1) / block;
}

std::int64_t root_rounded_up(std::int64_t n) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (root * root < n) ++root;
  while (root > 1 && (root - 1) * (root - 1) >= n) --root;
  return root;
}

}  // namespace

// split_with_sizes_copy: as many blocks as fill the device.
void Fsdp2::scratch_of_copy_out(UnitId unit, std::int64_t ranks) {
  constexpr std::int64_t kThreadsOfBlock = 64;
  const std::int64_t most = static_cast<std::int64_t>(job_.device.multiprocessors) *
                            threads_of_multiprocessor(job_.device) / kThreadsOfBlock;
  const std::int64_t times = group(Group::shard).size / ranks;
  const auto& parameters = layout(unit).parameters;
  const auto sum_of_blocks = [&](std::int64_t block) {
    std::int64_t sum = 0;
    for (const ParameterShard& p : parameters) {
      sum += blocks_of(times * p.padded * item_size(type_of(p)), block);
    }
    return sum;
  };
  const std::int64_t rounds =
      std::max<std::int64_t>(1, blocks_of(ranks * sum_of_blocks(kBlock), most));
  const std::int64_t together = std::min(root_rounded_up(rounds), ranks);
  const std::int64_t blocks = sum_of_blocks(kBlock * blocks_of(rounds, together));
  emit_.free(emit_.allocate({8 * (4 * static_cast<std::int64_t>(parameters.size()) + 1 + blocks),
                             Category::temporaries, Role::scratch}));
}

// chunk_cat, which runs where the types are equal or 16 bits become fp32.
void Fsdp2::scratch_of_copy_in(UnitId unit) {
  const std::int64_t from = item_size(gradient_type_), to = item_size(reduce_type_);
  if (from > to) return;
  const auto& parameters = trained(unit).parameters;
  std::int64_t blocks = 0;
  for (const ParameterShard& p : parameters) blocks += blocks_of(p.padded * to, kBlock);
  emit_.free(emit_.allocate({8 * (6 * static_cast<std::int64_t>(parameters.size()) + 2 + blocks),
                             Category::temporaries, Role::scratch}));
}

}  // namespace foreshard::lowering
