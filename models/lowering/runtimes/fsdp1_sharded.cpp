#include "models/lowering/runtimes/fsdp1_sharded.hpp"

namespace foreshard::lowering {
namespace {

bool frees_after_forward(Strategy strategy) {
  return strategy == Strategy::full_shard || strategy == Strategy::hybrid_shard;
}

}  // namespace

Fsdp1Sharded::Fsdp1Sharded(const Job& job, const RankPlace& place, Emitter& emit)
    : Fsdp1(job, place, emit),
      frees_after_forward_(frees_after_forward(job.plan.sharding.strategy)),
      skips_sharded_views_(!frees_after_forward_ && job.plan.pytorch.use_orig_params),
      limiter_(emit, job.plan.prefetch.limit_all_gathers) {}

std::vector<Fsdp1::Transient> Fsdp1Sharded::lazy_tensors(UnitId unit) const {
  const PrecisionPlan& precision = plan_.precision;
  const std::int64_t shard = flat(unit).layout.padded;
  const std::int64_t full = shard * place_[Group::shard].size;
  if (!casts()) return {{full, precision.param}};
  return {{shard, precision.param}, {full, precision.param}, {full, precision.storage}};
}

// The limiter counts a gather that finds all there as well, and an offloaded shard is copied for it.
void Fsdp1Sharded::unshard(UnitId unit) {
  const bool is_there = at(unit).full != kNone;
  BufferId shard = held(unit).shard;
  if (!is_there || plan_.offload.parameters) shard = shard_to_gather(unit);
  const bool is_made = shard != held(unit).shard;
  drop_device_shard(unit);
  if (is_made) emit_.wait_for(fsdp1_stream::unshard, fsdp1_stream::pre_unshard);
  limiter_.before_gather();
  if (!is_there) {
    const DType type = plan_.precision.param;
    const std::int64_t ranks = place_[Group::shard].size;
    const std::int64_t bytes = ranks * flat(unit).layout.padded * item_size(type);
    const BufferId full = allocate_full(unit, bytes);
    at(unit).full = full;
    emit_.collective(fsdp1_stream::unshard, Group::shard,
                     {Operator::all_gather, type, type, type, {bytes, ranks}}, shard, full);
  }
  if (!is_made) return;
  if (casts()) {
    drop(shard, fsdp1_stream::unshard);
  } else {
    if (!is_there) emit_.record_stream(shard, fsdp1_stream::unshard);
    at(unit).on_device = shard;
    if (!plan_.pytorch.use_orig_params) drop_device_shard(unit);
  }
}

// Of an evaluation it may outlive the step.
BufferId Fsdp1Sharded::allocate_full(UnitId unit, std::int64_t bytes) {
  Emitter::BufferSpec spec = {bytes, Category::unsharded_parameters, Role::unsharded, kNone,
                              fsdp1_stream::unshard};
  if (!evaluates()) return emit_.allocate(spec);
  spec.persistent = true;
  BufferId& full = held(unit).full;
  if (full == kNone) full = emit_.declare(spec);
  emit_.allocate(full);
  return full;
}

// _use_sharded_flat_param, or a new copy to which the original parameters turn.
void Fsdp1Sharded::drop_device_shard(UnitId unit) {
  BufferId& on_device = at(unit).on_device;
  if (on_device != kNone) emit_.free(std::exchange(on_device, kNone));
}

void Fsdp1Sharded::free_unsharded(UnitId unit, Stream current) {
  drop(at(unit).full, current);
  limiter_.freed(current);
}

void Fsdp1Sharded::reshard_after_forward(UnitId unit) {
  if (!skips_sharded_views_) drop_device_shard(unit);
  if (frees_after_forward_ && unit != 0) free_unsharded(unit, Stream::compute);
}

// _should_free_in_backward.
void Fsdp1Sharded::reshard_after_backward(UnitId unit, Stream current) {
  drop_device_shard(unit);
  if (frees_after_forward_ || reduces_now()) free_unsharded(unit, current);
}

std::vector<Stream> Fsdp1Sharded::reduction_streams() const {
  if (!is_replicated()) return Fsdp1::reduction_streams();
  return {fsdp1_stream::post_backward, fsdp1_stream::all_reduce};
}

void Fsdp1Sharded::reduce(UnitId unit, BufferId gradient) {
  if (at(unit).unreduced != kNone) {
    add_to(at(unit).unreduced, gradient_type_, gradient, flat(unit).numel);
  }
  if (!reduces_now()) return keep_unreduced(unit, gradient);
  const Stream stream = fsdp1_stream::post_backward;
  const std::int64_t numel = flat(unit).numel;
  const std::int64_t padded = flat(unit).layout.padded * place_[Group::shard].size;
  emit_.wait_for(stream, fsdp1_stream::unshard);
  const BufferId unreduced = std::exchange(at(unit).unreduced, kNone);
  BufferId whole = unreduced == kNone ? gradient : unreduced;
  emit_.record_stream(whole, stream);

  std::vector<BufferId> made;
  const auto copied = [&](DType from, std::int64_t elements) {
    made.push_back(emit_.allocate({elements * item_size(reduce_type_), Category::reduce_scatter,
                                   Role::reduce_scatter_input, kNone, stream}));
    emit_.launch(stream, {Operator::cast, reduce_type_, from, reduce_type_, {elements}}, {whole},
                 {made.back()});
    whole = made.back();
  };
  if (reduce_type_ != gradient_type_) copied(gradient_type_, numel);
  if (padded != numel) copied(reduce_type_, padded);
  made.push_back(scatter(unit, whole));
  if (unreduced != kNone) made.push_back(unreduced);
  made.push_back(gradient);
  for (const BufferId buffer : made) {
    if (buffer != kNone) emit_.free(buffer);
  }
}

void Fsdp1Sharded::keep_unreduced(UnitId unit, BufferId gradient) {
  BufferId& unreduced = at(unit).unreduced;
  if (unreduced != kNone) return emit_.free(gradient);
  unreduced = gradient;
  allocate_placeholders(unit);
}

// _reduce_grad from the reduce-scatter on. What it returns has been added to an earlier gradient, or is
// none.
BufferId Fsdp1Sharded::scatter(UnitId unit, BufferId padded) {
  const DType storage = plan_.precision.storage;
  const std::int64_t elements = flat(unit).layout.padded, ranks = place_[Group::shard].size;
  Stream stream = fsdp1_stream::post_backward;
  divide(padded, predivide_factor(), stream);
  const bool accumulates = at(unit).has_gradient;
  BufferId sharded = allocate_gradient(unit, elements, reduce_type_, stream);
  emit_.collective(stream, Group::shard,
                   {Operator::reduce_scatter,
                    reduce_type_,
                    reduce_type_,
                    reduce_type_,
                    {ranks * elements * item_size(reduce_type_), ranks}},
                   padded, sharded);
  if (is_replicated()) {
    stream = fsdp1_stream::all_reduce;
    emit_.wait_for(stream, fsdp1_stream::post_backward);
    emit_.record_stream(sharded, stream);
    emit_.collective(stream, Group::replicate,
                     {Operator::all_reduce,
                      reduce_type_,
                      reduce_type_,
                      reduce_type_,
                      {elements * item_size(reduce_type_), place_[Group::replicate].size}},
                     sharded, sharded);
  }
  divide(sharded, postdivide_factor(), stream);
  if (reduce_type_ != storage) {
    const BufferId narrow = sharded;
    sharded = cast(unit, narrow, reduce_type_, storage, elements, stream);
    emit_.free(narrow);
  }
  if (accumulates) {
    emit_.launch(stream, {Operator::add, storage, storage, storage, {elements}}, {sharded},
                 {held(unit).gradient()});
  }
  copy_to_host(unit, stream);
  return accumulates ? sharded : kNone;
}

}  // namespace foreshard::lowering
