// The gathering half of the runtime: from shards to the parameters that operators see and back
// (sections 1.4 to 1.6 and 1.12).
#include "models/lowering/runtimes/fsdp2.hpp"

namespace foreshard::lowering {

// FSDPParamGroup.unshard, section 1.5.
void Fsdp2::unshard(UnitId unit) {
  UnitState& s = at(unit);
  if (!is_managed(unit) || s.has_gathered || s.is_unsharded) return;
  if (s.state == State::pre_backward && stays_sharded_in_backward_[static_cast<std::size_t>(unit)])
    return;
  s.has_gathered = true;
  if (copies_alone()) return;  // all work is done in the wait
  const auto range = emit_.range(Range::all_gather, unit);
  // get_all_gather_streams, section 1.4. An asynchronous collective runs on the communicator's own
  // stream, its buffers are the compute stream's; a user's unshard() is synchronous on the current.
  s.is_async = plan_.pytorch.async_unshard && s.state != State::idle;
  const bool is_current = s.state == State::idle || s.is_async;
  const Stream copy_in = is_current ? Stream::compute : Stream::all_gather_copy_in;
  const Stream gather = s.state == State::idle ? Stream::compute : Stream::all_gather;
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
  const auto& shards = held(unit).shards;
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
    issue_all_gather(unit, copy_in, gather, Group::shard, gathered_elements(unit), shards);
  }
}

// The slices that the post-forward group kept (1.6) are in the compute type already, but mixed
// precision still goes through a flat buffer.
void Fsdp2::gather_from_kept(UnitId unit, Stream copy_in, Stream gather) {
  UnitState& s = at(unit);
  const PrecisionPlan& precision = plan_.precision;
  const std::int64_t slice =
      gathered_elements(unit) * group(Group::shard).size / group(Group::post_forward).size;
  if (s.kept_event != kNone) {
    emit_.wait(copy_in, s.kept_event);
    emit_.wait(gather, s.kept_event);
  }
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
  s.gathered_event = gather == Stream::compute ? kNone : emit_.record(gather);
}

// FSDPParamGroup.wait_for_unshard, 1.5 a to e.
void Fsdp2::wait_for_unshard(UnitId unit) {
  UnitState& s = at(unit);
  if (!s.has_gathered) return;
  s.has_gathered = false;
  s.is_unsharded = true;
  if (rules_.releases_gather_before_wait && s.state == State::forward) release_all_gather_state();
  if (copies_alone()) return copy_from_shards(unit);
  const auto range = emit_.range(Range::all_gather_copy_out, unit);
  Pending previous;
  if (s.state == State::forward) previous = std::exchange(all_gather_state_, {});
  if (previous.buffer != kNone) all_gather_streams_wait(previous.event);
  if (s.gathered_event != kNone) emit_.wait(Stream::compute, s.gathered_event);
  copy_out(unit);
  for (const BufferId kept : s.kept) emit_.free(kept);
  s.kept.clear();
  s.is_kept_after_forward = false;
  const EventId copied = emit_.record(Stream::compute);
  if (s.state == State::forward && !s.is_async) {
    all_gather_state_ = {s.gathered, copied};
  } else {
    all_gather_streams_wait(copied);
    emit_.free(s.gathered);
  }
  if (previous.buffer != kNone) emit_.free(previous.buffer);
}

// foreach_all_gather_copy_out, 1.5 c. Shards of columns lie one rank after the other in a temporary,
// from where they are woven into rows; slices kept after forward are pieces of the whole already.
void Fsdp2::copy_out(UnitId unit) {
  UnitState& s = at(unit);
  const DType type = plan_.precision.param;
  const std::int64_t shard_ranks = group(Group::shard).size;
  std::vector<BufferId> temporaries;
  std::vector<BufferId>& targets = copied_out_;
  targets.clear();
  s.unsharded.reserve(layout(unit).parameters.size());
  for (std::size_t i = 0; i < layout(unit).parameters.size(); ++i) {
    const ParameterShard& p = layout(unit).parameters[i];
    const Emitter::BufferSpec spec = {shard_ranks * p.padded * item_size(type_of(p)),
                                      Category::unsharded_parameters, Role::unsharded,
                                      emit_.parameter_name(p.parameter)};
    s.unsharded.push_back(allocate_gathered(&UnitShards::unsharded, unit, i, spec));
    targets.push_back(s.unsharded.back());
    if (p.shard_dim == 0 || s.is_kept_after_forward) continue;
    temporaries.push_back(emit_.allocate(spec));
    targets.back() = temporaries.back();
  }
  const std::int64_t ranks =
      s.is_kept_after_forward ? group(Group::post_forward).size : shard_ranks;
  const std::int64_t slice = gathered_elements(unit) * shard_ranks / ranks;
  if (is_pytorch_) scratch_of_copy_out(unit, ranks);
  emit_.launch(Stream::compute,
               emit_.intern({Operator::all_gather_copy_out, type, type, type, {slice, ranks}}),
               {&s.gathered, 1}, targets);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == s.unsharded[i]) continue;
    const ParameterShard& p = layout(unit).parameters[i];
    emit_.launch(Stream::compute,
                 {Operator::transpose, type, type, type, {ranks, p.rows, p.columns / ranks}},
                 {targets[i]}, {s.unsharded[i]});
  }
  if (temporaries.empty()) return;
  const bool ends_with_columns = layout(unit).parameters.back().shard_dim != 0;
  if (rules_.column_originals_die_early && !ends_with_columns) {
    for (std::size_t i = temporaries.size(); i-- > 0;) emit_.free(temporaries[i]);
    return;
  }
  for (std::size_t i = temporaries.size() - 1; i-- > 0;) emit_.free(temporaries[i]);
  emit_.free(temporaries.back());
}

// What an evaluation gathers may outlive the step.
BufferId Fsdp2::allocate_gathered(std::vector<BufferId> UnitShards::*lasting, UnitId unit,
                                  std::size_t parameter, Emitter::BufferSpec spec) {
  if (!evaluates_) return emit_.allocate(spec);
  std::vector<BufferId>& buffers = held_[static_cast<std::size_t>(unit)].*lasting;
  buffers.resize(layout(unit).parameters.size(), kNone);
  spec.persistent = true;
  if (buffers[parameter] == kNone) buffers[parameter] = emit_.declare(spec);
  emit_.allocate(buffers[parameter]);
  return buffers[parameter];
}

// A shard group of one (1.5): no collective but a copy of each parameter, cast first where types
// differ. What a copy was made from goes once the next parameter's is there. Under operators
// "foreshard" these are PyTorch's allocations, and what is written is the parameters alone: only an
// offloaded parameter's cast goes its way, as the copy that it is made from dies before.
void Fsdp2::copy_from_shards(UnitId unit) {
  UnitState& s = at(unit);
  const PrecisionPlan& precision = plan_.precision;
  const bool casts = precision.param != precision.storage, from_host = plan_.offload.parameters;
  const bool copies_each = is_pytorch_ || (from_host && casts);
  const auto& shards = held(unit).shards;
  BufferId before = kNone;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const ParameterShard& p = layout(unit).parameters[i];
    const auto spec = [&](DType type) {
      return Emitter::BufferSpec{p.padded * item_size(type), Category::unsharded_parameters,
                                 Role::unsharded, emit_.parameter_name(p.parameter)};
    };
    const auto allocate = [&](DType type) { return emit_.allocate(spec(type)); };
    const auto cast = [&](DType from, BufferId source, BufferId target) {
      if (!copies_each) return;
      emit_.launch(Stream::compute,
                   {Operator::cast, precision.param, from, precision.param, {p.padded}}, {source},
                   {target});
    };
    BufferId source = shards[i];
    if (from_host) {
      source = allocate(precision.storage);
      if (copies_each) copy_to_device(p, shards[i], source);
    }
    if (casts) {
      const BufferId converted = allocate(precision.param);
      cast(precision.storage, source, converted);
      if (source != shards[i]) emit_.free(source);
      source = converted;
    }
    if (before != kNone) emit_.free(before);
    s.unsharded.push_back(allocate_gathered(&UnitShards::unsharded, unit, i, spec(type_of(p))));
    cast(precision.param, source, s.unsharded.back());
    before = source == shards[i] ? kNone : source;
  }
  if (before != kNone) emit_.free(before);
  if (!copies_each) write_from_shards(unit);
}

void Fsdp2::write_from_shards(UnitId unit) {
  const UnitLayout& shape = layout(unit);
  const PrecisionPlan& precision = plan_.precision;
  const auto& shards = held(unit).shards;
  if (reads_shards()) return;
  if (precision.param != precision.storage) {
    emit_.launch(Stream::compute,
                 emit_.intern({Operator::shard_cast,
                               precision.param,
                               precision.storage,
                               precision.param,
                               {shape.padded}}),
                 shards, at(unit).unsharded);
    return;
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    copy_to_device(shape.parameters[i], shards[i], at(unit).unsharded[i]);
  }
}

void Fsdp2::copy_to_device(const ParameterShard& p, BufferId shard, BufferId target) {
  emit_.copy(Stream::compute, Operator::copy_host_to_device,
             p.padded * item_size(plan_.precision.storage), shard, target);
}

bool Fsdp2::copies_alone() const {
  return group(Group::shard).size == 1 && rules_.single_rank_copies;
}

// A rank alone, whose parameters are on the device in the compute type already.
bool Fsdp2::reads_shards() const {
  return !is_pytorch_ && copies_alone() && !plan_.offload.parameters &&
         plan_.precision.param == plan_.precision.storage;
}

void Fsdp2::all_gather_streams_wait(EventId event) {
  emit_.wait(Stream::all_gather_copy_in, event);
  emit_.wait(Stream::all_gather, event);
}

void Fsdp2::release_all_gather_state() {
  if (all_gather_state_.buffer == kNone) return;
  all_gather_streams_wait(all_gather_state_.event);
  emit_.free(all_gather_state_.buffer);
  all_gather_state_ = {};
}

// A gather that nobody waited for by the end of backward (finalize_backward).
void Fsdp2::drop_gathered(UnitId unit) {
  UnitState& s = at(unit);
  if (!s.has_gathered) return;
  s.has_gathered = false;
  if (copies_alone()) return;
  if (s.gathered_event != kNone) emit_.wait(Stream::compute, s.gathered_event);
  all_gather_streams_wait(emit_.record(Stream::compute));
  emit_.free(s.gathered);
}

// to_sharded.
void Fsdp2::reshard(UnitId unit) {
  UnitState& s = at(unit);
  for (const BufferId whole : s.unsharded) emit_.free(whole);
  s.unsharded.clear();
  // Slices that backward did not gather stay until the next forward's take their place: to_sharded leaves
  // _sharded_post_forward_param_data.
  if (!s.kept.empty()) s.stale = std::exchange(s.kept, {});
  s.is_unsharded = s.is_kept_after_forward = false;
}

// to_sharded_post_forward: the post-forward group keeps the parameters between them (1.6).
void Fsdp2::reshard_to_group(UnitId unit) {
  UnitState& s = at(unit);
  if (!s.is_unsharded) return;
  const auto& kept = group(Group::post_forward);
  const DType type = plan_.precision.param;
  for (std::size_t i = 0; i < s.unsharded.size(); ++i) {
    const ParameterShard& p = layout(unit).parameters[i];
    const std::int64_t elements = p.padded * group(Group::shard).size / kept.size;
    s.kept.push_back(
        allocate_gathered(&UnitShards::kept, unit, i,
                          {elements * item_size(type_of(p)), Category::unsharded_parameters,
                           Role::kept_slice, emit_.parameter_name(p.parameter)}));
    emit_.launch(Stream::compute, {Operator::copy_slice, type, type, type, {elements}},
                 {s.unsharded[i]}, {s.kept.back()}, kept.index);
    if (!s.stale.empty()) emit_.free(s.stale[i]);
    emit_.free(s.unsharded[i]);
  }
  s.unsharded.clear();
  s.stale.clear();
  s.is_unsharded = false;
  s.is_kept_after_forward = true;
  s.kept_event = emit_.record(Stream::compute);
}

}  // namespace foreshard::lowering
