// The gradients' half of the runtime: accumulation, reduction, and the final callback
// (sections 1.8 to 1.12).
#include <algorithm>

#include "models/lowering/runtimes/fsdp2.hpp"

namespace foreshard::lowering {

bool Fsdp2::reduces_now() const {
  return plan_.batch.gradient_sync == When::every || is_last_micro_step_;
}
bool Fsdp2::all_reduces_now() const {
  return plan_.batch.all_reduce == When::every || is_last_micro_step_;
}
bool Fsdp2::reshards_after_backward() const {
  return plan_.sharding.reshard_after_backward == When::every || is_last_micro_step_;
}

bool Fsdp2::copies_gradients_last() const {
  return plan_.offload.optimizer && !plan_.offload.parameters;
}
bool Fsdp2::ends_differently() const {
  const When each[] = {plan_.batch.gradient_sync, plan_.batch.all_reduce,
                       plan_.sharding.reshard_after_backward};
  return copies_gradients_last() ||
         std::find(std::begin(each), std::end(each), When::last) != std::end(each);
}

// FSDPParamGroup.post_backward.
void Fsdp2::post_backward(UnitId unit) {
  UnitState& s = at(unit);
  if (!is_managed(unit) || s.post_backward_done) return;
  s.post_backward_done = true;
  focus(unit);
  if (!s.accumulated.empty()) add_to_accumulated(unit);
  {
    const auto range = emit_.range(Range::post_backward_reshard, unit);
    if (reshards_after_backward()) reshard(unit);
    if (!reduces_now()) keep_unsharded_gradients(unit);
  }
  if (reduces_now()) {
    const auto range = emit_.range(Range::post_backward_reduce, unit);
    reduce_gradients(unit);
  }
  s.state = State::idle;
}

void Fsdp2::add_to_accumulated(UnitId unit) {
  UnitState& s = at(unit);
  const auto range = emit_.range(Range::post_backward_accumulate, unit);
  for (std::size_t i = 0; i < s.gradients.size(); ++i) {
    const ParameterShard& p = layout(unit).parameters[i];
    emit_.launch(Stream::compute,
                 {Operator::add, reduce_type_, gradient_type_, reduce_type_, {p.rows * p.columns}},
                 {s.gradients[i]}, {s.accumulated[i]});
    emit_.free(s.gradients[i]);
  }
  s.gradients.clear();
}

// Without reduction gradients stay whole: as they are when they are reduced in their own type,
// otherwise converted one by one (to_accumulated_grad_if_needed).
void Fsdp2::keep_unsharded_gradients(UnitId unit) {
  UnitState& s = at(unit);
  if (reduce_type_ == gradient_type_ || !s.accumulated.empty() || s.gradients_are_wide) return;
  for (std::size_t i = 0; i < s.gradients.size(); ++i) {
    const ParameterShard& p = layout(unit).parameters[i];
    const std::int64_t numel = p.rows * p.columns;
    s.accumulated.push_back(
        emit_.allocate({numel * item_size(reduce_type_), Category::unsharded_gradients,
                        Role::accumulated_gradient, emit_.parameter_name(p.parameter)}));
    emit_.launch(Stream::compute,
                 {Operator::cast, reduce_type_, gradient_type_, reduce_type_, {numel}},
                 {s.gradients[i]}, {s.accumulated.back()});
    emit_.free(s.gradients[i]);
  }
  s.gradients.clear();
}

// Steps 4 to 11 of post_backward (foreach_reduce).
void Fsdp2::reduce_gradients(UnitId unit) {
  UnitState& s = at(unit);
  const UnitLayout& shape = layout(unit);
  const std::int64_t ranks = group(Group::shard).size;
  if (!rules_.keeps_reduced_input) release_reduce_scatter_state();
  if (s.post_reduce) emit_.wait(Stream::compute, *s.post_reduce);

  const bool from_accumulated = !s.accumulated.empty();
  std::vector<BufferId>& gradients = from_accumulated ? s.accumulated : s.gradients;
  const DType from = from_accumulated || s.gradients_are_wide ? reduce_type_ : gradient_type_;
  const BufferId uncut = cut_into_columns(unit, gradients, from);
  const std::int64_t bytes = ranks * shape.padded * item_size(reduce_type_);
  const BufferId input =
      emit_.allocate({bytes, Category::reduce_scatter, Role::reduce_scatter_input});
  if (is_pytorch_) scratch_of_copy_in(unit);
  emit_.launch(Stream::compute,
               emit_.intern({Operator::reduce_scatter_copy_in,
                             reduce_type_,
                             from,
                             reduce_type_,
                             {shape.padded, ranks}}),
               gradients, {&input, 1});
  // Variables of foreach_reduce's loop keep the group's last gradient until it returns, and the last
  // that was cut into columns.
  std::vector<BufferId> late;
  const bool loop_runs = rules_.loop_keeps_last_gradient && (ranks > 1 || rules_.loop_runs_alone);
  if (loop_runs && shape.parameters.back().shard_dim == 0) {
    late.push_back(gradients.back());
    gradients.pop_back();
  }
  if (uncut != kNone) late.push_back(uncut);
  for (std::size_t i = gradients.size(); i-- > 0;) emit_.free(gradients[i]);
  gradients.clear();
  s.gradients_are_wide = false;

  emit_.wait_for(Stream::reduce_scatter, Stream::compute);
  const bool is_replicated = group(Group::replicate).size > 1;
  const bool is_partial = is_replicated && !all_reduces_now();
  const Emitter::BufferSpec reduced_shards = {shape.padded * item_size(reduce_type_),
                                              Category::reduce_scatter,
                                              Role::reduce_scatter_output, kNone,
                                              Stream::reduce_scatter};
  const bool becomes_gradient = reduce_type_ == plan_.precision.storage && !is_partial;
  const BufferId output = becomes_gradient ? allocate_sharded_gradient(unit, reduced_shards)
                                           : emit_.allocate(reduced_shards);
  const DType type = reduce_type_;
  if (ranks > 1) {
    emit_.collective(Stream::reduce_scatter, Group::shard,
                     {Operator::reduce_scatter, type, type, type, {bytes, ranks}}, input, output,
                     true);
  } else {
    emit_.launch(Stream::reduce_scatter, {Operator::cast, type, type, type, {shape.padded}},
                 {input}, {output});
  }
  const EventId reduced = emit_.record(Stream::reduce_scatter);
  // Hybrid sharding, all_reduce = "last": a partial sum grows until it joins the last output.
  const BufferId partial = std::exchange(s.partial_reduction, kNone);
  const auto add_to = [&](BufferId sum, BufferId term) {
    emit_.launch(Stream::reduce_scatter, {Operator::add, type, type, type, {shape.padded}}, {term},
                 {sum});
  };
  if (is_partial) {
    s.partial_reduction = partial == kNone ? output : partial;
    if (partial != kNone) {
      add_to(partial, output);
      late.push_back(output);
    }
  } else {
    if (partial != kNone) add_to(output, partial);
    if (is_replicated) {
      emit_.wait_for(Stream::all_reduce, Stream::reduce_scatter);
      emit_.collective(Stream::all_reduce, Group::replicate,
                       {Operator::all_reduce,
                        type,
                        type,
                        type,
                        {shape.padded * item_size(type), group(Group::replicate).size}},
                       output, output, true);
    }
    take_sharded_gradient(unit, output, is_replicated ? Stream::all_reduce : Stream::reduce_scatter,
                          late);
    if (partial != kNone) late.push_back(partial);
  }
  for (const BufferId buffer : late) emit_.free(buffer);
  release_reduce_scatter_state();
  reduce_scatter_state_ = {input, reduced};
}

void Fsdp2::release_reduce_scatter_state() {
  if (reduce_scatter_state_.buffer == kNone) return;
  emit_.wait(Stream::compute, reduce_scatter_state_.event);
  emit_.free(reduce_scatter_state_.buffer);
  reduce_scatter_state_ = {};
}

// PyTorch's lives on into the next step, in which it is freed before a new one is allocated.
BufferId Fsdp2::allocate_sharded_gradient(UnitId unit, const Emitter::BufferSpec& spec) {
  if (!is_pytorch_ || at(unit).reduced != kNone || plan_.offload.parameters) {
    return emit_.allocate(spec);
  }
  BufferId& gradient = held_[static_cast<std::size_t>(unit)].gradient;
  if (gradient == kNone) {
    Emitter::BufferSpec kept = spec;
    kept.category = Category::gradients;
    kept.persistent = true;
    gradient = emit_.declare(kept);
  }
  emit_.allocate(gradient);
  return gradient;
}

// The offsets that chunk_cat hands to its kernel, 64 bits each: blocks of 2048 bytes. It runs where the
// types are equal or 16 bits become fp32.
void Fsdp2::scratch_of_copy_in(UnitId unit) {
  const std::int64_t from = item_size(gradient_type_), to = item_size(reduce_type_);
  if (from > to) return;
  constexpr std::int64_t kBlock = 2048;
  const auto& parameters = layout(unit).parameters;
  std::int64_t blocks = 0;
  for (const ParameterShard& p : parameters) blocks += (p.padded * to + kBlock - 1) / kBlock;
  emit_.free(emit_.allocate({8 * (6 * static_cast<std::int64_t>(parameters.size()) + 2 + blocks),
                             Category::temporaries, Role::scratch}));
}

// Step 6's chunk and cat: gradients of parameters cut on columns become full copies in the order of
// the ranks. An original dies before the next copy of an even place in the group is made; the last
// one is returned, for the caller to free.
BufferId Fsdp2::cut_into_columns(UnitId unit, std::vector<BufferId>& gradients, DType type) {
  const std::int64_t ranks = group(Group::shard).size;
  std::vector<BufferId> originals;
  if (ranks == 1) return kNone;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const ParameterShard& p = layout(unit).parameters[i];
    if (p.shard_dim == 0) continue;
    if (i % 2 == 0) {
      for (const BufferId original : originals) emit_.free(original);
      originals.clear();
    }
    const BufferId cut =
        emit_.allocate({p.rows * p.columns * item_size(type), Category::reduce_scatter,
                        Role::reduce_scatter_input, emit_.parameter_name(p.parameter)});
    emit_.launch(Stream::compute,
                 {Operator::transpose, type, type, type, {p.rows, ranks, p.columns / ranks}},
                 {gradients[i]}, {cut});
    originals.push_back(std::exchange(gradients[i], cut));
  }
  if (originals.empty()) return kNone;
  if (rules_.column_originals_die_early) {
    for (const BufferId original : originals) emit_.free(original);
    return kNone;
  }
  for (std::size_t i = 0; i + 1 < originals.size(); ++i) emit_.free(originals[i]);
  return originals.back();
}

// Steps 9 and 10: the cast to the storage type, accumulation into what earlier micro-steps reduced,
// the copy to the host. `late` collects what dies when foreach_reduce returns.
void Fsdp2::take_sharded_gradient(UnitId unit, BufferId output, Stream stream,
                                  std::vector<BufferId>& late) {
  UnitState& s = at(unit);
  const std::int64_t elements = layout(unit).padded;
  const DType storage = plan_.precision.storage;
  const bool is_replicated = stream == Stream::all_reduce;
  BufferId gradient = output;
  if (reduce_type_ != storage) {
    gradient = allocate_sharded_gradient(
        unit, {elements * item_size(storage), Category::gradients, Role::sharded_gradient, kNone,
               stream});
    emit_.launch(stream, {Operator::cast, storage, reduce_type_, storage, {elements}}, {output},
                 {gradient});
    if (!is_replicated) emit_.free(output);
  }
  bool outlives = false;
  if (plan_.offload.parameters) {
    copy_gradient_to_host(unit, gradient, stream);
  } else if (s.reduced != kNone) {
    emit_.launch(stream, {Operator::add, storage, storage, storage, {elements}}, {gradient},
                 {s.reduced});
  } else {
    s.reduced = gradient;
    outlives = true;
  }
  // _all_reduce_state holds the reduced buffer until finalize_backward unless it is the gradient.
  if (is_replicated && (gradient != output || !outlives)) s.all_reduce_input = output;
  if (!outlives && gradient != s.all_reduce_input) late.push_back(gradient);
  s.post_reduce = emit_.record(stream);
  // With offloaded parameters the gradient is on the host already.
  if (copies_gradients_last() && is_last_micro_step_) {
    emit_.wait(Stream::device_to_host, *s.post_reduce);
    emit_.copy(Stream::device_to_host, Operator::copy_device_to_host, elements * item_size(storage),
               s.reduced, held(unit).host_gradient);
    s.on_host = emit_.record(Stream::device_to_host);
  }
}

// 1.12: asynchronous into the host's gradient, or with one there already a blocking copy and an
// addition by the host.
void Fsdp2::copy_gradient_to_host(UnitId unit, BufferId gradient, Stream stream) {
  UnitState& s = at(unit);
  const DType storage = plan_.precision.storage;
  const std::int64_t elements = layout(unit).padded, bytes = elements * item_size(storage);
  const BufferId host = held(unit).host_gradient;
  const bool accumulates = s.on_host != kNone;
  const BufferId target = accumulates ? emit_.allocate({bytes, Category::gradients, Role::host_copy,
                                                        kNone, Stream::compute, true})
                                      : host;
  emit_.copy(stream, Operator::copy_device_to_host, bytes, gradient, target);
  s.on_host = emit_.record(stream);
  if (!accumulates) return;
  emit_.host_wait(s.on_host);
  emit_.host_compute({Operator::add, storage, storage, storage, {elements}}, {&target, 1},
                     {&host, 1});
  emit_.free(target);
}

// FSDPState._root_post_backward_final_callback.
void Fsdp2::final_callback() {
  const auto range = emit_.range(Range::root_post_backward_callback);
  for (std::size_t u = 0; u < states_.size(); ++u) {
    const UnitId unit = static_cast<UnitId>(u);
    post_backward(unit);
    focus(unit);
    finalize(unit);
  }
  focus(kNone);
  release_reduce_scatter_state();
}

void Fsdp2::finalize(UnitId unit) {
  UnitState& s = at(unit);
  if (s.post_reduce) emit_.wait(Stream::compute, *s.post_reduce);
  if (s.all_reduce_input != kNone) {
    emit_.wait(Stream::reduce_scatter,
               *s.post_reduce);  // its pool's stream, before it may be reused
    emit_.free(std::exchange(s.all_reduce_input, kNone));
  }
  drop_gathered(unit);
  if (plan_.offload.parameters && s.on_host != kNone) emit_.host_wait(s.on_host);
}

std::vector<OptimizerTensors> Fsdp2::optimizer_tensors() const {
  std::vector<OptimizerTensors> out;
  for (std::size_t u = 0; u < states_.size(); ++u) {
    const UnitLayout& shape = program_.units[u];
    if (shape.parameters.empty()) continue;
    const UnitShards& held = held_[u];
    const UnitState& state = states_[u];
    out.push_back({static_cast<UnitId>(u), shape.parameters, held.shards, held.master_shards,
                   shape.padded, shape.local, state.reduced, held.host_gradient, state.on_host});
  }
  return out;
}

// A unit's storage goes with the gradient of its last parameter.
void Fsdp2::zero_gradients() {
  const EventId optimized = emit_.record(Stream::compute);
  emit_.wait(Stream::reduce_scatter, optimized);
  if (group(Group::replicate).size > 1) emit_.wait(Stream::all_reduce, optimized);
  std::vector<std::pair<ParameterId, UnitId>> order;
  for (std::size_t u = 0; u < states_.size(); ++u) {
    if (states_[u].reduced == kNone) continue;
    const auto& owned = job_.units[u].parameters;
    order.emplace_back(*std::max_element(owned.begin(), owned.end()), static_cast<UnitId>(u));
  }
  std::sort(order.begin(), order.end());
  for (const auto& [last, unit] : order) {
    focus(unit);
    emit_.free(std::exchange(at(unit).reduced, kNone));
  }
  focus(kNone);
}

}  // namespace foreshard::lowering
