// The hooks of the runtime and its prefetching (sections 2.2 to 2.4).
#include "models/lowering/runtimes/fsdp1.hpp"

#include <algorithm>

#include "models/base/assertion.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {

Fsdp1::Fsdp1(const Job& job, const RankPlace& place, Emitter& emit)
    : job_(job),
      plan_(job.plan),
      place_(place),
      emit_(emit),
      gradient_type_(job.plan.precision.param),
      reduce_type_(job.plan.precision.reduce.value_or(job.plan.precision.param)),
      flat_(flat_parameters(job, place)),
      states_(job.units.size()),
      held_(job.units.size()),
      places_(job.tree.parameters.size()) {
  const std::vector<bool> gradients = foreshard::has_gradients(job);
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    const auto& parameters = job.units[u].parameters;
    states_[u].gradients.assign(parameters.size(), kNone);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      places_[static_cast<std::size_t>(parameters[i])] = {static_cast<UnitId>(u), i};
    }
    const auto trains = [&](ParameterId p) {
      return job.tree.parameters[static_cast<std::size_t>(p)].trains;
    };
    states_[u].has_gradients = std::any_of(parameters.begin(), parameters.end(), trains);
    states_[u].returns_gradient = output_has_gradient(job, gradients, job.units[u].modules.front());
    std::vector<ParameterShard> pieces = flat_[u].layout.parameters;
    std::erase_if(pieces, [&](const ParameterShard& piece) {
      return piece.parameter == kNone ? !states_[u].has_gradients : !trains(piece.parameter);
    });
    trained_.push_back(std::move(pieces));
  }
}

void Fsdp1::begin_micro_step(bool is_last) {
  is_last_micro_step_ = is_last;
  evaluates_ = false;
  clock_ = 0;
  post_forward_order_.clear();
}

bool Fsdp1::reduces_now() const {
  return is_last_micro_step_ || plan_.batch.gradient_sync == When::every;
}

void Fsdp1::focus(UnitId unit) {
  emit_.focus(unit, job_.units[static_cast<std::size_t>(unit)].modules[0]);
}

BufferId Fsdp1::parameter(ParameterId parameter) const {
  const UnitId unit = places_[static_cast<std::size_t>(parameter)].unit;
  const BufferId full = states_[static_cast<std::size_t>(unit)].full;
  FORESHARD_ASSERT(full != kNone, "an operator reads a parameter that is not gathered");
  return full;
}

// _lazy_init, then _root_pre_forward.
void Fsdp1::root_pre_forward() {
  const auto range = emit_.range(Range::fsdp1_root_pre_forward);
  if (!std::exchange(is_initialized_, true)) initialize_attributes();
  for (UnitState& s : states_) {
    s.needs_unshard_in_forward = plan_.prefetch.forward_prefetch;
    s.is_prefetched = false;
  }
  const EventId optimized = emit_.record(Stream::compute);
  emit_.wait(fsdp1_stream::unshard, optimized);
  emit_.wait(fsdp1_stream::pre_unshard, optimized);
  if (std::exchange(clears_gradients_, false)) free_gradients();
  free_gradients_without_views();
}

// Autograd's nodes of the split come after all that ran before it, another unit's split among it.
void Fsdp1::split(UnitId unit) {
  unshard(unit);
  at(unit).split = ++clock_;
}

void Fsdp1::pre_forward(UnitId unit) {
  focus(unit);
  if (unit == 0) root_pre_forward();
  UnitState& s = at(unit);
  s.entered = ++clock_;
  if (!is_managed(unit)) return;
  const auto range = emit_.range(Range::fsdp1_pre_forward);
  if (!has_order_) pre_forward_order_.push_back(unit);
  if (!s.is_prefetched) split(unit);
  s.needs_unshard_in_forward = false;
  emit_.wait_for(Stream::compute, fsdp1_stream::unshard);
  prefetch_forward(unit);
}

// The next unit of the recorded order.
void Fsdp1::prefetch_forward(UnitId unit) {
  if (!plan_.prefetch.forward_prefetch) return;
  const auto range = emit_.range(Range::fsdp1_pre_forward_prefetch);
  const auto here = std::find(pre_forward_order_.begin(), pre_forward_order_.end(), unit);
  if (pre_forward_order_.end() - here <= 1) return;
  const UnitId target = *(here + 1);
  UnitState& s = at(target);
  if (!s.needs_unshard_in_forward || s.is_prefetched) return;
  focus(target);
  split(target);
  s.is_prefetched = true;
  focus(unit);
}

void Fsdp1::post_forward(UnitId unit, bool) {
  focus(unit);
  if (!is_managed(unit)) return;
  const auto range = emit_.range(Range::fsdp1_post_forward);
  UnitState& s = at(unit);
  s.post_forward_index = static_cast<int>(post_forward_order_.size());
  post_forward_order_.push_back(unit);
  reshard_after_forward(unit);
  s.is_prefetched = false;
  s.needs_unshard_in_backward = s.returns_gradient;  // _register_pre_backward_hooks
}

// A unit that is in backward already has its parameters; one inside a checkpointed block begins a
// forward of its own, for which backward may have prefetched them (_pre_forward_unshard).
void Fsdp1::pre_forward_in_recompute(UnitId unit) {
  if (at(unit).is_in_backward || !is_managed(unit)) return;
  focus(unit);
  if (!at(unit).is_prefetched) unshard(unit);
  emit_.wait_for(Stream::compute, fsdp1_stream::unshard);
}

void Fsdp1::post_forward_in_recompute(UnitId unit) {
  if (at(unit).is_in_backward || !is_managed(unit)) return;
  focus(unit);
  reshard_after_forward(unit);
  at(unit).is_prefetched = false;
}

// _pre_backward_hook.
void Fsdp1::pre_backward(UnitId unit) {
  focus(unit);
  UnitState& s = at(unit);
  s.is_in_backward = true;
  if (!is_managed(unit)) return;
  const auto range = emit_.range(Range::fsdp1_pre_backward);
  if (s.needs_unshard_in_backward) {
    if (!s.is_prefetched) unshard(unit);
    emit_.wait_for(Stream::compute, fsdp1_stream::unshard);
  }
  s.needs_unshard_in_backward = false;
  if (plan_.prefetch.backward_prefetch != BackwardPrefetch::pre) return;
  const auto prefetching = emit_.range(Range::fsdp1_pre_backward_prefetch);
  prefetch_backward(unit);
}

// The unit before this one in post-forward order.
void Fsdp1::prefetch_backward(UnitId unit) {
  const int index = at(unit).post_forward_index;
  if (index <= 0) return;
  const UnitId target = post_forward_order_[static_cast<std::size_t>(index - 1)];
  UnitState& s = at(target);
  if (!s.needs_unshard_in_backward || s.is_prefetched) return;
  focus(target);
  unshard(target);
  s.is_prefetched = true;
  focus(unit);
}

// All that remains of backward came before this unit's forward.
void Fsdp1::post_backward(UnitId unit) {
  run_splits_backward(at(unit).entered);
  if (!at(unit).has_gradients) reshard_frozen(unit);
}

// _post_backward_reshard_only_hook: of a flat parameter that requires no gradient, on the stream of the
// gradient that came last.
void Fsdp1::reshard_frozen(UnitId unit) {
  if (at(unit).full == kNone || !is_managed(unit)) return;
  focus(unit);
  reshard_after_backward(unit, Stream::compute);
  at(unit).is_prefetched = false;
  if (plan_.prefetch.backward_prefetch == BackwardPrefetch::post) prefetch_backward(unit);
}

void Fsdp1::final_callback() {
  run_splits_backward(0);
  for (std::size_t u = 0; u < states_.size(); ++u) {  // _catch_all_reshard
    if (!states_[u].has_gradients) reshard_frozen(static_cast<UnitId>(u));
  }
  emit_.focus_on_step();
  if (reduces_now()) {
    for (const Stream stream : reduction_streams()) emit_.wait_for(Stream::compute, stream);
    if (plan_.offload.parameters) {
      emit_.host_wait(emit_.record(Stream::compute));
      free_gradients();
    }
  }
  has_order_ = true;
  for (UnitState& s : states_) {
    s.is_in_backward = s.needs_unshard_in_backward = s.is_prefetched = false;
    s.post_forward_index = kNone;
  }
}

// The flat shard as it is, unless it is on the host or of another type.
BufferId Fsdp1::shard_to_gather(UnitId unit) {
  const Stream stream = fsdp1_stream::pre_unshard;
  const PrecisionPlan& precision = plan_.precision;
  const std::int64_t elements = flat(unit).layout.padded;
  const auto allocate = [&](DType type, Role role) {
    return emit_.allocate({elements * item_size(type), Category::all_gather, role, kNone, stream});
  };
  BufferId shard = held(unit).shard;
  const BufferId out = casts() ? allocate(precision.param, Role::flat_cast) : kNone;
  BufferId on_device = kNone;
  if (plan_.offload.parameters) {
    on_device = allocate(precision.storage, Role::device_copy);
    emit_.copy(stream, Operator::copy_host_to_device, elements * item_size(precision.storage),
               shard, on_device);
    shard = on_device;
  }
  if (!casts()) return shard;
  emit_.launch(
      stream,
      {Operator::shard_cast, precision.param, precision.storage, precision.param, {elements}},
      {shard}, {out});
  if (on_device != kNone) emit_.free(on_device);
  return out;
}

void Fsdp1::drop(BufferId& buffer, Stream last_user) {
  emit_.record_stream(buffer, last_user);
  emit_.free(std::exchange(buffer, kNone));
}

}  // namespace foreshard::lowering
