#include "models/lowering/fsdp2.hpp"

namespace foreshard::lowering {

Fsdp2::Fsdp2(const Job& job, RankProgram& program, Emitter& emit, PersistentBuffers& persistent)
    : job_(job),
      plan_(job.plan),
      program_(program),
      emit_(emit),
      persistent_(persistent),
      states_(job.units.size()),
      unit_of_layer_(static_cast<std::size_t>(job.model.layers), kNone),
      layer_of_unit_(job.units.size(), kNone),
      places_(job.tree.parameters.size()),
      gradient_type_(job.plan.precision.param),
      reduce_type_(job.plan.precision.reduce.value_or(gradient_type_)) {
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    const Unit& unit = job.units[u];
    const UnitId id = static_cast<UnitId>(u);
    for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
      places_[static_cast<std::size_t>(unit.parameters[i])] = {id, static_cast<std::int32_t>(i)};
    }
    const Module& first = job.tree.modules[static_cast<std::size_t>(unit.modules[0])];
    if (unit.modules.size() == 1 && first.kind == ModuleKind::decoder_layer) {
      unit_of_layer_[static_cast<std::size_t>(first.layer)] = id;
      layer_of_unit_[u] = first.layer;
    }
    kept_ranks_.push_back(ranks_after_forward(job, id));
  }
}

void Fsdp2::begin_step() {
  for (UnitState& s : states_) s = UnitState{};
  all_gather_state_ = reduce_scatter_state_ = {};
}

void Fsdp2::begin_micro_step(int micro_step) {
  is_last_micro_step_ = micro_step + 1 == plan_.batch.accumulation;
  is_root_forward_started_ = false;
  post_forward_order_.clear();
  for (UnitState& s : states_) {
    s.state = State::idle;
    s.post_backward_done = false;
    s.post_forward_indices.clear();
  }
}

BufferId Fsdp2::unsharded(ParameterId parameter) const {
  const ParameterPlace& p = places_[static_cast<std::size_t>(parameter)];
  return states_[static_cast<std::size_t>(p.unit)].unsharded[static_cast<std::size_t>(p.index)];
}

void Fsdp2::focus(UnitId unit) {
  emit_.unit = unit;
  emit_.module = unit == kNone ? 0 : job_.units[static_cast<std::size_t>(unit)].modules[0];
}

// FSDPParamGroup.unshard, section 1.5.
void Fsdp2::unshard(UnitId unit) {
  UnitState& s = at(unit);
  if (!is_managed(unit) || s.has_gathered || s.is_unsharded) return;
  s.has_gathered = true;
  if (group(Group::shard).size == 1) return;  // all work is done in the wait
  const auto range = emit_.range(Range::all_gather, unit);
  const bool is_idle = s.state == State::idle;  // get_all_gather_streams, section 1.4
  const Stream copy_in = is_idle ? Stream::compute : Stream::all_gather_copy_in;
  const Stream gather = is_idle ? Stream::compute : Stream::all_gather;
  if (s.is_kept_after_forward) {
    gather_from_kept(unit, copy_in, gather);
  } else {
    gather_from_shards(unit, copy_in, gather);
  }
}

// Steps 1 to 4 of 1.5; with offloaded parameters their copies to the device instead of the flat
// cast buffer (1.12).
void Fsdp2::gather_from_shards(UnitId unit, Stream copy_in, Stream gather) {
  const UnitLayout& shape = layout(unit);
  const PrecisionPlan& precision = plan_.precision;
  const auto& shards = persistent_.units[static_cast<std::size_t>(unit)].shards;
  const bool casts = precision.param != precision.storage;
  const auto device_bytes = [&](const ParameterShard& p, DType type) {
    return p.padded * item_size(type);
  };
  if (plan_.offload.parameters) {
    std::vector<BufferId> inputs;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const ParameterShard& p = shape.parameters[i];
      const NameId owner = emit_.parameter_name(p.parameter);
      const BufferId copy =
          emit_.allocate({device_bytes(p, precision.storage), Category::temporaries,
                          Role::device_copy, owner, copy_in});
      emit_.copy(copy_in, Operator::copy_host_to_device, device_bytes(p, precision.storage),
                 shards[i], copy);
      if (casts) {
        inputs.push_back(emit_.allocate({device_bytes(p, precision.param), Category::all_gather,
                                         Role::flat_cast, owner, copy_in}));
        emit_.launch(
            copy_in,
            {Operator::cast, precision.param, precision.storage, precision.param, {p.padded}},
            {copy}, {inputs.back()});
        emit_.free(copy);
      } else {
        inputs.push_back(copy);
      }
    }
    issue_all_gather(unit, copy_in, gather, Group::shard, shape.padded, inputs);
    for (std::size_t i = inputs.size(); i-- > 0;) emit_.free(inputs[i]);
  } else if (casts) {
    const BufferId flat = emit_.allocate({shape.padded * item_size(precision.param),
                                          Category::all_gather, Role::flat_cast, kNone, copy_in});
    const CostKeyId key = emit_.intern({Operator::shard_cast,
                                        precision.param,
                                        precision.storage,
                                        precision.param,
                                        {shape.padded}});
    emit_.launch(copy_in, key, shards, {&flat, 1});
    issue_all_gather(unit, copy_in, gather, Group::shard, shape.padded, {&flat, 1});
    emit_.free(flat);
  } else {
    issue_all_gather(unit, copy_in, gather, Group::shard, shape.padded, shards);
  }
}

// The slices that the post-forward group kept (1.6) are in the compute type already, but mixed
// precision still goes through a flat buffer.
void Fsdp2::gather_from_kept(UnitId unit, Stream copy_in, Stream gather) {
  UnitState& s = at(unit);
  const PrecisionPlan& precision = plan_.precision;
  const std::int64_t slice =
      layout(unit).padded * group(Group::shard).size / group(Group::post_forward).size;
  emit_.wait(copy_in, s.kept_event);
  emit_.wait(gather, s.kept_event);
  if (precision.param == precision.storage) {
    issue_all_gather(unit, copy_in, gather, Group::post_forward, slice, s.kept);
    return;
  }
  const BufferId flat = emit_.allocate(
      {slice * item_size(precision.param), Category::all_gather, Role::flat_cast, kNone, copy_in});
  const DType type = precision.param;
  emit_.launch(copy_in, emit_.intern({Operator::shard_cast, type, type, type, {slice}}), s.kept,
               {&flat, 1});
  issue_all_gather(unit, copy_in, gather, Group::post_forward, slice, {&flat, 1});
  emit_.free(flat);
}

void Fsdp2::issue_all_gather(UnitId unit, Stream copy_in, Stream gather, Group over,
                             std::int64_t slice, std::span<const BufferId> inputs) {
  UnitState& s = at(unit);
  const DType type = plan_.precision.param;
  const auto& ranks = group(over);
  const std::int64_t bytes = slice * ranks.size * item_size(type);
  s.gathered =
      emit_.allocate({bytes, Category::all_gather, Role::all_gather_output, kNone, copy_in});
  emit_.launch(copy_in,
               emit_.intern({Operator::all_gather_copy_in, type, type, type, {slice, ranks.size}}),
               inputs, {&s.gathered, 1}, ranks.index);
  if (gather != copy_in) emit_.wait_for(gather, copy_in);
  emit_.collective(gather, over, {Operator::all_gather, type, type, type, {bytes, ranks.size}},
                   s.gathered, s.gathered);
  s.gathered_event = emit_.record(gather);
}

void Fsdp2::allocate_unsharded(UnitId unit) {
  UnitState& s = at(unit);
  for (const ParameterShard& p : layout(unit).parameters) {
    s.unsharded.push_back(emit_.allocate(
        {group(Group::shard).size * p.padded * item_size(plan_.precision.param),
         Category::unsharded_parameters, Role::unsharded, emit_.parameter_name(p.parameter)}));
  }
}

// FSDPParamGroup.wait_for_unshard, 1.5 a to e.
void Fsdp2::wait_for_unshard(UnitId unit) {
  UnitState& s = at(unit);
  if (!s.has_gathered) return;
  s.has_gathered = false;
  s.is_unsharded = true;
  const auto range = emit_.range(Range::all_gather_copy_out, unit);
  if (group(Group::shard).size == 1) return unshard_alone(unit);
  const Pending previous = s.state == State::forward ? all_gather_state_ : Pending{};
  if (previous.buffer != kNone) {
    emit_.wait(Stream::all_gather_copy_in, previous.event);
    emit_.wait(Stream::all_gather, previous.event);
    all_gather_state_ = {};
  }
  if (s.state != State::idle) emit_.wait(Stream::compute, s.gathered_event);
  allocate_unsharded(unit);
  const DType type = plan_.precision.param;
  const std::int64_t ranks =
      s.is_kept_after_forward ? group(Group::post_forward).size : group(Group::shard).size;
  const std::int64_t slice = layout(unit).padded * group(Group::shard).size / ranks;
  emit_.launch(Stream::compute,
               emit_.intern({Operator::all_gather_copy_out, type, type, type, {slice, ranks}}),
               {&s.gathered, 1}, s.unsharded);
  for (const BufferId kept : s.kept) emit_.free(kept);
  s.kept.clear();
  s.is_kept_after_forward = false;
  const EventId copied = emit_.record(Stream::compute);
  if (s.state == State::forward) {
    all_gather_state_ = {s.gathered, copied};
  } else {
    if (s.state == State::pre_backward) {
      emit_.wait(Stream::all_gather_copy_in, copied);
      emit_.wait(Stream::all_gather, copied);
    }
    emit_.free(s.gathered);
  }
  if (previous.buffer != kNone) emit_.free(previous.buffer);
}

void Fsdp2::unshard_alone(UnitId unit) {
  UnitState& s = at(unit);
  const PrecisionPlan& precision = plan_.precision;
  const auto& shards = persistent_.units[static_cast<std::size_t>(unit)].shards;
  const UnitLayout& shape = layout(unit);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const ParameterShard& p = shape.parameters[i];
    const NameId owner = emit_.parameter_name(p.parameter);
    BufferId source = shards[i];
    if (plan_.offload.parameters) {
      const std::int64_t bytes = p.padded * item_size(precision.storage);
      source = emit_.allocate({bytes, Category::temporaries, Role::device_copy, owner});
      emit_.copy(Stream::compute, Operator::copy_host_to_device, bytes, shards[i], source);
    }
    s.unsharded.push_back(emit_.allocate({p.padded * item_size(precision.param),
                                          Category::unsharded_parameters, Role::unsharded, owner}));
    emit_.launch(Stream::compute,
                 {Operator::cast, precision.param, precision.storage, precision.param, {p.padded}},
                 {source}, {s.unsharded.back()});
    if (source != shards[i]) emit_.free(source);
  }
}

void Fsdp2::release_all_gather_state() {
  if (all_gather_state_.buffer == kNone) return;
  emit_.wait(Stream::all_gather_copy_in, all_gather_state_.event);
  emit_.wait(Stream::all_gather, all_gather_state_.event);
  emit_.free(all_gather_state_.buffer);
  all_gather_state_ = {};
}

// to_sharded, or to_sharded_post_forward when a smaller group keeps the parameters (1.6).
void Fsdp2::reshard(UnitId unit, bool after_forward) {
  UnitState& s = at(unit);
  if (!s.is_unsharded) return;
  const int ranks = group(Group::shard).size, kept = kept_ranks_[static_cast<std::size_t>(unit)];
  const bool keeps_slices = after_forward && kept > 1 && kept < ranks;
  const DType type = plan_.precision.param;
  for (std::size_t i = 0; i < s.unsharded.size(); ++i) {
    if (keeps_slices) {
      const ParameterShard& p = layout(unit).parameters[i];
      const std::int64_t elements = p.padded * ranks / kept;
      s.kept.push_back(emit_.allocate({elements * item_size(type), Category::unsharded_parameters,
                                       Role::kept_slice, emit_.parameter_name(p.parameter)}));
      emit_.launch(Stream::compute, {Operator::copy_slice, type, type, type, {elements}},
                   {s.unsharded[i]}, {s.kept.back()}, group(Group::post_forward).index);
    }
    emit_.free(s.unsharded[i]);
  }
  s.unsharded.clear();
  s.is_unsharded = false;
  s.is_kept_after_forward = keeps_slices;
  if (keeps_slices) s.kept_event = emit_.record(Stream::compute);
}

void Fsdp2::unshard_root_before_forward() {
  focus(0);
  unshard(0);
  wait_for_unshard(0);
}

// FSDPState._pre_forward, 1.6.
void Fsdp2::pre_forward(UnitId unit) {
  focus(unit);
  if (!is_root_forward_started_) {
    is_root_forward_started_ = true;
    const auto range = emit_.range(Range::root_pre_forward);
    const EventId now = emit_.record(Stream::compute);
    emit_.wait(Stream::all_gather_copy_in, now);
    emit_.wait(Stream::all_gather, now);
  }
  const auto range = emit_.range(Range::pre_forward, unit);
  at(unit).state = State::forward;
  unshard(unit);
  wait_for_unshard(unit);
  prefetch_forward(unit);
}

// FSDPParamGroup._prefetch_unshard: as if the target were in `state`, for the streams' sake.
void Fsdp2::prefetch(UnitId target, State state) {
  const UnitId current = emit_.unit;
  focus(target);
  const State before = std::exchange(at(target).state, state);
  unshard(target);
  at(target).state = before;
  focus(current);
}

// set_modules_to_forward_prefetch on decoder blocks i < L - n, as PyTorch's tutorial sets it.
void Fsdp2::prefetch_forward(UnitId unit) {
  const std::int64_t depth = plan_.prefetch.forward, layers = job_.model.layers;
  const std::int64_t layer = layer_of_unit_[static_cast<std::size_t>(unit)];
  if (layer == kNone || layer >= layers - depth) return;
  for (std::int64_t ahead = 1; ahead <= depth; ++ahead) {
    prefetch(unit_of_layer_[static_cast<std::size_t>(layer + ahead)], State::forward);
  }
}

// FSDPState._post_forward, 1.6.
void Fsdp2::post_forward(UnitId unit, bool is_root) {
  focus(unit);
  const auto range = emit_.range(Range::post_forward, unit);
  at(unit).state = State::idle;
  if (is_managed(unit)) {
    if (kept_ranks_[static_cast<std::size_t>(unit)] != 1) reshard(unit, true);
    at(unit).post_forward_indices.push_back(static_cast<int>(post_forward_order_.size()));
    post_forward_order_.push_back(unit);
  }
  if (is_root) release_all_gather_state();
}

void Fsdp2::pre_forward_in_recompute(UnitId unit) {
  focus(unit);
  UnitState& s = at(unit);
  if (s.state == State::pre_backward) {
    unshard(unit);
    return wait_for_unshard(unit);
  }
  const auto range = emit_.range(Range::pre_forward, unit);
  const EventId now = emit_.record(Stream::compute);
  emit_.wait(Stream::all_gather_copy_in, now);
  emit_.wait(Stream::all_gather, now);
  s.state = State::forward;
  unshard(unit);
  wait_for_unshard(unit);
}

// Inside backward a forward neither reshards nor counts in the post-forward order.
void Fsdp2::post_forward_in_recompute(UnitId unit) {
  focus(unit);
  release_all_gather_state();
}

// FSDPParamGroup.pre_backward, 1.8.
void Fsdp2::pre_backward(UnitId unit) {
  focus(unit);
  const auto range = emit_.range(Range::pre_backward, unit);
  at(unit).state = State::pre_backward;
  unshard(unit);
  wait_for_unshard(unit);
  prefetch_backward(unit);
}

// set_modules_to_backward_prefetch on decoder blocks i >= n; everyone else prefetches the unit before
// it in post-forward order.
void Fsdp2::prefetch_backward(UnitId unit) {
  if (!plan_.prefetch.backward || !is_managed(unit)) return;
  const std::int64_t depth = *plan_.prefetch.backward;
  const std::int64_t layer = layer_of_unit_[static_cast<std::size_t>(unit)];
  auto& indices = at(unit).post_forward_indices;
  if (depth > 0 && layer != kNone && layer >= depth) {
    for (std::int64_t back = 1; back <= depth; ++back) {
      prefetch(unit_of_layer_[static_cast<std::size_t>(layer - back)], State::pre_backward);
    }
    return;
  }
  if (indices.empty()) return;
  const int index = indices.back();
  indices.pop_back();
  if (index > 0) {
    prefetch(post_forward_order_[static_cast<std::size_t>(index - 1)], State::pre_backward);
  }
}

}  // namespace foreshard::lowering
