// The gradients' way through a unit's post-backward: accumulation, reduction, and the final callback
// (sections 1.8 to 1.11).
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
  if (reduces_now() && !trained(unit).parameters.empty()) {
    const auto range = emit_.range(Range::post_backward_reduce, unit);
    reduce_gradients(unit);
  }
  s.state = State::idle;
}

void Fsdp2::add_to_accumulated(UnitId unit) {
  UnitState& s = at(unit);
  const auto range = emit_.range(Range::post_backward_accumulate, unit);
  for (std::size_t i = 0; i < s.gradients.size(); ++i) {
    const ParameterShard& p = trained(unit).parameters[i];
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
    const ParameterShard& p = trained(unit).parameters[i];
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
  const UnitLayout& shape = trained(unit);
  const std::int64_t ranks = group(Group::shard).size;
  if (!rules_.keeps_reduced_input) release_reduce_scatter_state();
  if (s.post_reduce) emit_.wait(Stream::compute, *s.post_reduce);

  const bool from_accumulated = !s.accumulated.empty();
  std::vector<BufferId>& gradients = from_accumulated ? s.accumulated : s.gradients;
  const DType from = from_accumulated || s.gradients_are_wide ? reduce_type_ : gradient_type_;
  // Gradients die before their sum is allocated, so that one rank's go through the input as well, in
  // the shorter of the two types.
  const bool is_alone = ranks == 1 && !is_pytorch_;
  const bool widens_late = is_alone && item_size(from) < item_size(reduce_type_);
  const DType carried = widens_late ? from : reduce_type_;
  const BufferId uncut = cut_into_columns(unit, gradients, from);
  const std::int64_t bytes = ranks * shape.padded * item_size(reduce_type_);
  const BufferId input =
      emit_.allocate({bytes, Category::reduce_scatter, Role::reduce_scatter_input});
  if (is_pytorch_) scratch_of_copy_in(unit);
  emit_.launch(
      Stream::compute,
      emit_.intern(
          {Operator::reduce_scatter_copy_in, carried, from, carried, {shape.padded, ranks}}),
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
                                              Category::reduce_scatter, Role::reduce_scatter_output,
                                              kNone, Stream::reduce_scatter};
  const bool becomes_gradient = reduce_type_ == trained_storage_ && !is_partial;
  const BufferId output = becomes_gradient ? allocate_sharded_gradient(unit, reduced_shards)
                                           : emit_.allocate(reduced_shards);
  const DType type = reduce_type_;
  // Hybrid sharding, all_reduce = "last": a partial sum grows until it joins the last output.
  const BufferId partial = std::exchange(s.partial_reduction, kNone);
  // What is converted next and nobody else's is converted from the input.
  const bool stays_in_input = is_alone && !is_replicated && !becomes_gradient && partial == kNone;
  if (ranks > 1) {
    emit_.collective(Stream::reduce_scatter, Group::shard,
                     {Operator::reduce_scatter, type, type, type, {bytes, ranks}}, input, output,
                     true);
  } else if (!stays_in_input) {
    emit_.launch(Stream::reduce_scatter, {Operator::cast, type, carried, type, {shape.padded}},
                 {input}, {output});
  }
  const EventId reduced = emit_.record(Stream::reduce_scatter);
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
    const ReducedGradient sum = stays_in_input ? ReducedGradient{output, input, carried}
                                               : ReducedGradient{output, output, type};
    take_sharded_gradient(unit, sum, is_replicated ? Stream::all_reduce : Stream::reduce_scatter,
                          late);
    if (partial != kNone) late.push_back(partial);
  }
  for (const BufferId buffer : late) emit_.free(buffer);
  release_reduce_scatter_state();
  reduce_scatter_state_ = {input, stays_in_input ? *s.post_reduce : reduced};
}

void Fsdp2::release_reduce_scatter_state() {
  if (reduce_scatter_state_.buffer == kNone) return;
  emit_.wait(Stream::compute, reduce_scatter_state_.event);
  emit_.free(reduce_scatter_state_.buffer);
  reduce_scatter_state_ = {};
}

// Step 6's chunk and cat: gradients of parameters cut on columns become full copies in the order of
// the ranks. An original dies before the next copy of an even place in the group is made; the last
// one is returned, for the caller to free.
BufferId Fsdp2::cut_into_columns(UnitId unit, std::vector<BufferId>& gradients, DType type) {
  const std::int64_t ranks = group(Group::shard).size;
  std::vector<BufferId> originals;
  if (ranks == 1) return kNone;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const ParameterShard& p = trained(unit).parameters[i];
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

// FSDPState._root_post_backward_final_callback.
void Fsdp2::final_callback() {
  const auto range = emit_.range(Range::root_post_backward_callback);
  for (std::size_t u = 0; u < states_.size(); ++u) {
    const UnitId unit = static_cast<UnitId>(u);
    post_backward(unit);
    focus(unit);
    finalize(unit);
  }
  post_forward_order_.clear();
  focus(kNone);
  release_reduce_scatter_state();
}

void Fsdp2::finalize(UnitId unit) {
  UnitState& s = at(unit);
  s.post_forward_indices.clear();
  if (s.post_reduce) emit_.wait(Stream::compute, *s.post_reduce);
  if (s.all_reduce_input != kNone) {
    emit_.wait(Stream::reduce_scatter,
               *s.post_reduce);  // its pool's stream, before it may be reused
    emit_.free(std::exchange(s.all_reduce_input, kNone));
  }
  drop_gathered(unit);
  if (plan_.offload.parameters && s.on_host != kNone) emit_.host_wait(s.on_host);
}

}  // namespace foreshard::lowering
