#include "models/lowering/training/pytorch_clipping.hpp"

#include <algorithm>

#include "models/base/units.hpp"
#include "models/lowering/training/training_buffers.hpp"
#include "models/sharding/accelerate.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {

PyTorchClipping::PyTorchClipping(const Job& job, const RankPlace& place, Emitter& emit)
    : job_(job),
      place_(place),
      rules_(pytorch_rules(job.plan.pytorch)),
      emit_(emit),
      tensors_(emit),
      element_(item_size(trained_storage(job.plan))) {}

void PyTorchClipping::clip(const std::vector<OptimizedParameter>& items,
                           const std::vector<OptimizerTensors>& tensors, ClippedGradients kind) {
  if (held_norm_ != kNone) emit_.free(held_norm_);
  switch (kind) {
    case ClippedGradients::tensors: return clip_tensors(items, tensors, false);
    case ClippedGradients::sharded_tensors: return clip_tensors(items, tensors, true);
    case ClippedGradients::flat_tensors: make_zero(); return clip_tensors(items, tensors, false);
    case ClippedGradients::flat_shards: make_zero(); return clip_flat_shards(tensors);
  }
}

// _foreach_norm sums chunks of each gradient first.
std::vector<BufferId> PyTorchClipping::norm_scratch(const std::vector<OptimizedParameter>& items) {
  constexpr std::int64_t kChunk = 65536;
  const auto count = static_cast<std::int64_t>(items.size());
  std::int64_t sum = 0, most = 0;
  for (const OptimizedParameter& item : items) {
    const std::int64_t chunks = ceil_divide(item.local, kChunk);
    sum += chunks;
    most = std::max(most, chunks);
  }
  if (!rules_.norm_scratch_is_packed) return {tensors_.empty(4 * count * most)};
  return {tensors_.empty(8 * (count + 1)), tensors_.empty(4 * sum)};
}

// A gradient without elements has a norm of its own, a zero.
std::vector<BufferId> PyTorchClipping::norms_of(const std::vector<OptimizedParameter>& items) {
  const std::vector<BufferId> scratch = norm_scratch(items);
  std::vector<BufferId> made, norms, zeros;
  for (const OptimizedParameter& item : items) {
    made.push_back(tensors_.make_of_part("aten::_foreach_norm", element_, item.gradient,
                                         item.local * element_));
  }
  for (const OptimizedParameter& item : items) {
    if (item.local == 0) zeros.push_back(tensors_.make("aten::zeros", element_, {}));
  }
  std::size_t used = 0, zero = 0;
  for (const OptimizedParameter& item : items) {
    norms.push_back(item.local > 0 ? made[used++] : zeros[zero++]);
  }
  for (std::size_t i = used; i < made.size(); ++i) emit_.free(made[i]);
  tensors_.free_reversed(scratch);
  return norms;
}

void PyTorchClipping::sum_over_ranks(BufferId sums) {
  const std::int64_t ranks = place_[Group::shard].size;
  emit_.collective(Stream::compute, Group::shard,
                   key_of(Operator::all_reduce, DType::fp32, emit_.buffer(sums).bytes, ranks), sums,
                   sums);
}

// A partial DTensor becomes whole.
BufferId PyTorchClipping::summed_over_ranks(std::int64_t bytes, BufferId norms) {
  const BufferId power = tensors_.make("aten::pow", bytes, {norms});
  const BufferId sums = tensors_.make("aten::clone", bytes, {power});
  sum_over_ranks(sums);
  const BufferId root = tensors_.make("aten::pow", bytes, {sums});
  tensors_.free({power, sums});
  return root;
}

// _get_total_norm, then _clip_grads_with_norm_. Norms of DTensors are partial until the sum over the
// ranks.
void PyTorchClipping::clip_tensors(const std::vector<OptimizedParameter>& items,
                                   const std::vector<OptimizerTensors>& tensors, bool is_sharded) {
  const auto count = static_cast<std::int64_t>(items.size());
  const std::vector<BufferId> norms = norms_of(items);
  const BufferId all = tensors_.make("aten::stack", element_ * count, {norms.front()});
  BufferId partial = kNone;
  if (is_sharded && place_[Group::shard].size > 1 && rules_.norm_summed_before_total) {
    partial = summed_over_ranks(element_ * count, all);
  }
  const BufferId total =
      tensors_.make("aten::linalg_vector_norm", element_, {partial == kNone ? all : partial});
  tensors_.free({partial, all});
  tensors_.free_reversed(norms);
  const BufferId added = tensors_.make("aten::add", element_, {total});
  BufferId summed = kNone;
  if (is_sharded && !rules_.norm_summed_before_total) summed = summed_over_ranks(element_, added);
  const BufferId inverse =
      tensors_.make("aten::reciprocal", element_, {summed == kNone ? added : summed});
  tensors_.free({summed});
  const BufferId factor = tensors_.make("aten::mul", element_, {inverse});
  tensors_.free({inverse, added});
  const BufferId clamped = tensors_.make("aten::clamp", element_, {factor});
  multiply(tensors, clamped);
  tensors_.free({factor, clamped});
  return_norm(total);
}

void PyTorchClipping::return_norm(BufferId norm) {
  if (!runs_in_trainer(job_.plan)) return emit_.free(norm);
  if (held_norm_ == kNone) held_norm_ = emit_.declare_like(norm);
  emit_.carry(norm, held_norm_);
}

// The copy is from memory that is not pinned: the host waits for it.
BufferId PyTorchClipping::scalar_from_host(bool is_kept) {
  const Emitter::BufferSpec spec = {4, Category::temporaries, Role::norms};
  Emitter::BufferSpec on_host = spec, on_device = spec;
  on_host.on_host = true;
  on_device.persistent = is_kept;
  const BufferId host = emit_.allocate(on_host);
  const BufferId device = emit_.allocate(on_device);
  emit_.copy(Stream::compute, Operator::copy_host_to_device, spec.bytes, host, device);
  emit_.host_wait(emit_.record(Stream::compute));
  emit_.free(host);
  return device;
}

// FullyShardedDataParallel keeps a zero for ranks without gradients.
void PyTorchClipping::make_zero() {
  if (zero_ == kNone) zero_ = scalar_from_host(true);
}

// The norm goes over the device for the sum over ranks alone.
void PyTorchClipping::clip_on_host(ClippedGradients kind) {
  if (kind == ClippedGradients::flat_tensors) make_zero();
  if (kind != ClippedGradients::flat_shards) return;
  make_zero();
  const BufferId local = scalar_from_host(false);
  const BufferId sums = tensors_.make("aten::pow", 4, {local});
  sum_over_ranks(sums);
  const BufferId total = tensors_.make("aten::pow", 4, {sums});
  emit_.free(sums);
  const BufferId host =
      emit_.allocate({4, Category::temporaries, Role::norms, kNone, Stream::compute, true});
  emit_.copy(Stream::compute, Operator::copy_device_to_host, 4, total, host);
  emit_.host_wait(emit_.record(Stream::compute));
  tensors_.free({total, local, host});
}

// One parameter after the other, unit by unit.
void PyTorchClipping::clip_flat_shards(const std::vector<OptimizerTensors>& tensors) {
  constexpr std::int64_t kScalar = 4;  // norms are fp32
  std::vector<BufferId> norms;
  for (const OptimizerTensors& unit : tensors) {
    for (const ParameterShard& piece : unit.parameters) {
      norms.push_back(norm_of_flat(unit.gradient, piece.local));
    }
  }
  const auto bytes = kScalar * static_cast<std::int64_t>(norms.size());
  BufferId local = kNone;
  if (!norms.empty()) {
    const BufferId all = tensors_.make("aten::stack", bytes, {norms.front()});
    tensors_.free_reversed(norms);
    local = tensors_.make("aten::linalg_vector_norm", kScalar, {all});
    tensors_.free({all});
  }
  const BufferId sums =
      tensors_.make("aten::pow", kScalar, {local == kNone ? zero_ : local});
  sum_over_ranks(sums);
  const BufferId total = tensors_.make("aten::pow", kScalar, {sums});
  tensors_.free({sums});
  const BufferId added = tensors_.make("aten::add", kScalar, {total});
  const BufferId inverse = tensors_.make("aten::reciprocal", kScalar, {added});
  const BufferId factor = tensors_.make("aten::mul", kScalar, {inverse});
  tensors_.free({inverse, added});
  const BufferId clamped = tensors_.make("aten::clamp", kScalar, {factor});
  // In another type than the norm's, the factor and the norm are cast: the factor for each gradient.
  BufferId returned = kNone;
  if (element_ != kScalar && !norms.empty()) {
    for (std::size_t n = 0; n < norms.size(); ++n) {
      emit_.free(tensors_.make("aten::_to_copy", element_, {clamped}));
    }
    returned = tensors_.make("aten::_to_copy", element_, {total});
  }
  multiply(tensors, clamped);
  tensors_.free({local, returned == kNone ? kNone : total, factor, clamped});
  return_norm(returned == kNone ? total : returned);
}

// linalg_vector_norm of one long tensor: as many blocks as fill the device write partial sums, and a
// semaphore tells which of them is the last.
BufferId PyTorchClipping::norm_of_flat(BufferId gradient, std::int64_t elements) {
  constexpr std::int64_t kOfBlock = 512, kLeastPerThread = 16, kMostPerThread = 256;
  const std::int64_t blocks = ceil_divide(elements, kOfBlock);
  const BufferId norm = tensors_.make("aten::linalg_vector_norm", 4, {gradient});
  if (blocks < kMostPerThread) return norm;
  const std::int64_t split = std::max(
      std::min<std::int64_t>(4 * job_.device.multiprocessors, ceil_divide(blocks, kLeastPerThread)),
      ceil_divide(blocks, kMostPerThread));
  if (split > 1) {
    const BufferId partial = tensors_.empty(4 * split), semaphore = tensors_.empty(4);
    tensors_.free({semaphore, partial});
  }
  return norm;
}

void PyTorchClipping::multiply(const std::vector<OptimizerTensors>& tensors, BufferId factor) {
  for (const OptimizerTensors& unit : tensors) {
    if (unit.gradient == kNone) continue;
    const std::int64_t bytes = unit.local * element_;
    tensors_.update("aten::_foreach_mul_", {&factor, 1}, bytes, {&unit.gradient, 1}, bytes);
  }
}

}  // namespace foreshard::lowering
