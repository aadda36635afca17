#include "models/lowering/runtimes/fsdp1_whole.hpp"

namespace foreshard::lowering {

std::vector<std::size_t> Fsdp1Whole::current_gradients() const {
  std::vector<std::size_t> current;
  for (const Held& held : all_held()) current.push_back(held.current);
  return current;
}

void Fsdp1Whole::begin_step() {
  current_before_ = current_gradients();
}

// Sums that outlive steps change places.
int Fsdp1Whole::cycle() const {
  return current_gradients() == current_before_ ? 1 : 2;
}

std::vector<Fsdp1::Transient> Fsdp1Whole::lazy_tensors(UnitId unit) const {
  if (!casts()) return {};
  return {{flat(unit).numel, plan_.precision.param}};
}

void Fsdp1Whole::unshard(UnitId unit) {
  BufferId& full = at(unit).full;
  if (full != kNone) return;
  full = shard_to_gather(unit);
  if (full != held(unit).shard) {
    emit_.wait_for(fsdp1_stream::unshard, fsdp1_stream::pre_unshard);
  }
}

void Fsdp1Whole::reshard(UnitId unit, Stream current) {
  BufferId& full = at(unit).full;
  if (full == held(unit).shard) {
    full = kNone;
  } else {
    drop(full, current);
  }
}

// Where no type differs it is the gradient that the optimizer gets.
BufferId Fsdp1Whole::allocate_flat_gradient(UnitId unit) {
  if (reduce_type_ != gradient_type_ || at(unit).unreduced != kNone) {
    return Fsdp1::allocate_flat_gradient(unit);
  }
  return allocate_gradient(unit, flat(unit).numel, gradient_type_, fsdp1_stream::unshard);
}

// _reduce_grad_no_shard. One that is reduced already grows in place, but for casts.
void Fsdp1Whole::reduce(UnitId unit, BufferId gradient) {
  UnitState& s = at(unit);
  if (s.has_gradient) {
    const BufferId kept = held(unit).gradient();
    const bool is_new = gradient != kept;
    if (is_new) add_to(kept, plan_.precision.storage, gradient, flat(unit).numel);
    emit_.wait_for(fsdp1_stream::post_backward, fsdp1_stream::unshard);
    if (reduces_now()) {
      emit_.record_stream(kept, fsdp1_stream::post_backward);
      reduce_sum(unit);
    }
    if (is_new) emit_.free(gradient);
  } else {
    if (s.unreduced != kNone) add_to(s.unreduced, gradient_type_, gradient, flat(unit).numel);
    if (reduces_now()) {
      reduce_unreduced(unit, gradient);
    } else {
      keep_unreduced(unit, gradient);
    }
  }
  if (reduces_now()) copy_to_host(unit, fsdp1_stream::post_backward);
}

// A sum with an earlier gradient, of the storage type, through the reduce type and back.
void Fsdp1Whole::reduce_sum(UnitId unit) {
  const DType storage = plan_.precision.storage;
  const BufferId sum = held(unit).gradient();
  if (reduce_type_ == storage) return all_reduce(unit, sum, storage);
  const Stream stream = fsdp1_stream::post_backward;
  const std::int64_t elements = flat(unit).numel;
  const BufferId narrow = cast(unit, sum, storage, reduce_type_, elements, stream);
  all_reduce(unit, narrow, reduce_type_);
  held(unit).current ^= 1;
  const BufferId wide = allocate_kept_gradient(unit, elements, stream);
  emit_.launch(stream, {Operator::cast, storage, reduce_type_, storage, {elements}}, {narrow},
               {wide});
  emit_.free(narrow);
  emit_.free(sum);
}

void Fsdp1Whole::keep_unreduced(UnitId unit, BufferId gradient) {
  BufferId& unreduced = at(unit).unreduced;
  if (unreduced != kNone) return emit_.free(gradient);
  unreduced = gradient;
  allocate_placeholders(unit);
}

// Through the reduce type to that of the parameters.
void Fsdp1Whole::reduce_unreduced(UnitId unit, BufferId gradient) {
  const Stream stream = fsdp1_stream::post_backward;
  emit_.wait_for(stream, fsdp1_stream::unshard);
  const BufferId unreduced = std::exchange(at(unit).unreduced, kNone);
  BufferId whole = unreduced == kNone ? gradient : unreduced;
  emit_.record_stream(whole, stream);  // whether it is the optimizer's or goes now
  const auto become = [&](DType from, DType to) {
    if (from == to) return;
    const BufferId before = whole;
    whole = cast(unit, before, from, to, flat(unit).numel, stream);
    emit_.free(before);
  };
  become(gradient_type_, reduce_type_);
  all_reduce(unit, whole, reduce_type_);
  become(reduce_type_, plan_.precision.storage);
  if (unreduced != kNone) emit_.free(gradient);
}

void Fsdp1Whole::all_reduce(UnitId unit, BufferId gradient, DType type) {
  const Stream stream = fsdp1_stream::post_backward;
  const std::int64_t ranks = place_[Group::replicate].size;
  divide(gradient, predivide_factor(), stream);
  if (ranks > 1) {
    emit_.collective(
        stream, Group::replicate,
        {Operator::all_reduce, type, type, type, {flat(unit).numel * item_size(type), ranks}},
        gradient, gradient);
  }
  divide(gradient, postdivide_factor(), stream);
}

}  // namespace foreshard::lowering
