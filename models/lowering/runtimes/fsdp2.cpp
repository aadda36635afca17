// The hooks of the runtime and its prefetching (sections 1.6 to 1.8).
#include "models/lowering/runtimes/fsdp2.hpp"

#include "models/base/assertion.hpp"
#include "models/sharding/accelerate.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {

Fsdp2::Fsdp2(const Job& job, const RankProgram& program, Emitter& emit)
    : job_(job),
      plan_(job.plan),
      program_(program),
      emit_(emit),
      is_pytorch_(describes_pytorch(job.plan.operators)),
      rules_(is_pytorch_ ? pytorch_rules(job.plan.pytorch) : PyTorchRules{}),
      states_(job.units.size()),
      unit_of_layer_(static_cast<std::size_t>(job.model.layers), kNone),
      layer_of_unit_(job.units.size(), kNone),
      stays_sharded_in_backward_(job.units.size()),
      places_(job.tree.parameters.size()),
      trained_storage_(trained_storage(job.plan)),
      gradient_type_(has_wide_adapters(job.plan) ? trained_storage_ : job.plan.precision.param),
      reduce_type_(has_wide_adapters(job.plan)
                       ? trained_storage_
                       : job.plan.precision.reduce.value_or(rules_.reduces_in_parameter_type
                                                                ? job.plan.precision.storage
                                                                : gradient_type_)) {
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    const Unit& unit = job.units[u];
    const UnitId id = static_cast<UnitId>(u);
    for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
      const auto index = static_cast<std::int32_t>(i);
      places_[static_cast<std::size_t>(unit.parameters[i])] = {id, index, index};
    }
    if (!job.tree.trains_whole) trained_.push_back(trained_part(id));
    const Module& first = job.tree.modules[static_cast<std::size_t>(unit.modules[0])];
    if (unit.modules.size() == 1 && first.kind == ModuleKind::decoder_layer) {
      unit_of_layer_[static_cast<std::size_t>(first.layer)] = id;
      layer_of_unit_[u] = first.layer;
    }
    const bool is_kept_root = id == 0 && !rules_.root_reshards_as_told;
    after_forward_.push_back(is_kept_root ? AfterForward::keep : after_forward(job, id));
    stays_sharded_in_backward_[u] = stays_sharded_in_backward(job, id);
  }
}

// What of a unit's layout is left without the parameters that are frozen.
UnitLayout Fsdp2::trained_part(UnitId unit) {
  UnitLayout trained;
  trained.name = layout(unit).name;
  for (ParameterShard shard : layout(unit).parameters) {
    if (!parameter_of(shard).trains) continue;
    places_[static_cast<std::size_t>(shard.parameter)].trained =
        static_cast<std::int32_t>(trained.parameters.size());
    shard.offset = trained.padded;
    trained.padded += shard.padded;
    trained.local += shard.local;
    trained.numel += shard.rows * shard.columns;
    trained.parameters.push_back(shard);
  }
  return trained;
}

// Units that an evaluation has left gathered still are.
void Fsdp2::begin_step() {
  for (UnitState& s : states_) {
    UnitState before = std::exchange(s, {});
    s.reduced = before.reduced;
    s.is_unsharded = before.is_unsharded;
    s.is_kept_after_forward = before.is_kept_after_forward;
    s.unsharded = std::move(before.unsharded);
    s.kept = std::move(before.kept);
    s.stale = std::move(before.stale);
    s.post_forward_indices = std::move(before.post_forward_indices);
  }
  all_gather_state_ = reduce_scatter_state_ = {};
}

// The next forward frees what the last all-gather left: here the step does, since it would be another
// step's buffer. Slices that backward did not gather are large enough to be carried over.
void Fsdp2::end_step() {
  release_all_gather_state();
  for (std::size_t u = 0; u < states_.size(); ++u) {
    for (std::size_t i = 0; i < states_[u].stale.size(); ++i) {
      BufferId& slice = states_[u].stale[i];
      if (i == held_[u].stale.size()) held_[u].stale.push_back(emit_.declare_like(slice));
      if (slice != held_[u].stale[i]) emit_.carry(slice, held_[u].stale[i]);
      slice = held_[u].stale[i];
    }
  }
}

void Fsdp2::begin_micro_step(bool is_last) {
  is_last_micro_step_ = is_last;
  evaluates_ = false;
  begin_forward();
  for (UnitState& s : states_) s.post_backward_done = false;
}

void Fsdp2::begin_evaluation() {
  evaluates_ = true;
  begin_forward();
}

void Fsdp2::begin_forward() {
  iteration_root_ = kNone;
  for (UnitState& s : states_) s.state = State::idle;
}

DType Fsdp2::type_of(const ParameterShard& shard) const {
  const bool is_wide = has_wide_adapters(plan_) && parameter_of(shard).trains;
  return is_wide ? trained_storage_ : plan_.precision.param;
}

std::int64_t Fsdp2::gathered_elements(UnitId unit) const {
  if (!has_wide_adapters(plan_)) return layout(unit).padded;
  std::int64_t bytes = 0;
  for (const ParameterShard& p : layout(unit).parameters) bytes += p.padded * item_size(type_of(p));
  return bytes / item_size(plan_.precision.param);
}

BufferId Fsdp2::parameter(ParameterId parameter) const {
  const ParameterPlace& p = places_[static_cast<std::size_t>(parameter)];
  const UnitState& s = states_[static_cast<std::size_t>(p.unit)];
  FORESHARD_ASSERT(s.is_unsharded, "an operator reads a parameter that is not gathered");
  const std::vector<BufferId>& parameters = reads_shards() ? held(p.unit).shards : s.unsharded;
  return parameters[static_cast<std::size_t>(p.index)];
}

void Fsdp2::focus(UnitId unit) {
  emit_.focus(unit, unit == kNone ? 0 : job_.units[static_cast<std::size_t>(unit)].modules[0]);
}

void Fsdp2::unshard_root_before_forward() {
  focus(0);
  unshard(0);
  wait_for_unshard(0);
}

// FSDPState._root_pre_forward, by the first state that enters a forward.
void Fsdp2::root_pre_forward(UnitId unit) {
  if (iteration_root_ != kNone) return;
  iteration_root_ = unit;
  if (!std::exchange(has_run_forward_, true)) pad_shards_again();
  const auto range = emit_.range(Range::root_pre_forward);
  all_gather_streams_wait(emit_.record(Stream::compute));
}

// FSDPState._pre_forward, 1.6.
void Fsdp2::pre_forward(UnitId unit) {
  focus(unit);
  root_pre_forward(unit);
  const auto range = emit_.range(Range::pre_forward, unit);
  at(unit).state = State::forward;
  unshard(unit);
  wait_for_unshard(unit);
  prefetch_forward(unit);
}

// FSDPParamGroup._prefetch_unshard: as if the target were in `state`, for the streams' sake.
void Fsdp2::prefetch(UnitId target, State state) {
  const UnitId current = emit_.unit();
  focus(target);
  const State before = std::exchange(at(target).state, state);
  unshard(target);
  at(target).state = before;
  focus(current);
}

// The units among `depth` decoder blocks after (`direction` 1) or before (-1) a unit's own, nearest
// first: what PyTorch's tutorial hands to set_modules_to_{forward,backward}_prefetch. None where the
// unit is no block or fewer blocks are left. Blocks that are no units cannot be prefetched.
std::vector<UnitId> Fsdp2::explicit_targets(UnitId unit, std::int64_t depth, int direction) const {
  const std::int64_t layer = layer_of_unit_[static_cast<std::size_t>(unit)];
  const std::int64_t last = layer + direction * depth;
  std::vector<UnitId> targets;
  if (layer == kNone || last < 0 || last >= job_.model.layers) return targets;
  for (std::int64_t i = layer + direction; i != last + direction; i += direction) {
    const UnitId target = unit_of_layer_[static_cast<std::size_t>(i)];
    if (target != kNone) targets.push_back(target);
  }
  return targets;
}

void Fsdp2::prefetch_forward(UnitId unit) {
  for (const UnitId target : explicit_targets(unit, plan_.prefetch.forward, 1)) {
    prefetch(target, State::forward);
  }
}

// FSDPState._post_forward, 1.6.
void Fsdp2::post_forward(UnitId unit, bool is_root) {
  focus(unit);
  const auto range = emit_.range(Range::post_forward, unit);
  at(unit).state = State::idle;
  if (is_managed(unit)) {
    switch (after_forward_[static_cast<std::size_t>(unit)]) {
      case AfterForward::keep: break;
      case AfterForward::reshard: reshard(unit); break;
      case AfterForward::reshard_to_group: reshard_to_group(unit); break;
    }
    at(unit).post_forward_indices.push_back(static_cast<int>(post_forward_order_.size()));
    post_forward_order_.push_back(unit);
  }
  // Outputs that are cast come before the last gather's end.
  if (is_root && !casts_outputs(plan_)) end_iteration(unit);
}

// output_dtype of the mixed precision policy (_cast_fp_tensor).
void Fsdp2::returned(std::span<BufferId*> outputs) {
  if (!casts_outputs(plan_)) return;
  const DType type = plan_.precision.param;
  std::vector<BufferId> originals;
  for (BufferId* const output : outputs) {
    const std::int64_t elements = emit_.buffer(*output).bytes / item_size(DType::fp32);
    const BufferId cast =
        emit_.allocate({elements * item_size(type), Category::activations, Role::activation});
    emit_.launch(Stream::compute, {Operator::cast, type, DType::fp32, type, {elements}}, {*output},
                 {cast});
    originals.push_back(std::exchange(*output, cast));
  }
  end_iteration(0);
  for (const BufferId original : originals) emit_.free(original);
}

// The state that began a forward ends it.
void Fsdp2::end_iteration(UnitId unit) {
  if (iteration_root_ != unit) return;
  iteration_root_ = kNone;
  release_all_gather_state();
}

// A block's own unit is in backward already; units inside it begin a forward of their own.
void Fsdp2::pre_forward_in_recompute(UnitId unit) {
  focus(unit);
  UnitState& s = at(unit);
  if (s.state == State::pre_backward) {
    unshard(unit);
    return wait_for_unshard(unit);
  }
  root_pre_forward(unit);
  const auto range = emit_.range(Range::pre_forward, unit);
  s.state = State::forward;
  unshard(unit);
  wait_for_unshard(unit);
}

// Inside backward a forward neither reshards nor counts in the post-forward order, from 2.10 on.
void Fsdp2::post_forward_in_recompute(UnitId unit) {
  focus(unit);
  if (at(unit).state == State::pre_backward) return;
  if (rules_.recompute_reshards) return post_forward(unit, true);
  at(unit).state = State::idle;
  end_iteration(unit);
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

// Explicit targets, or else the unit before this one in post-forward order.
void Fsdp2::prefetch_backward(UnitId unit) {
  if (!plan_.prefetch.backward || !is_managed(unit)) return;
  const std::vector<UnitId> targets = explicit_targets(unit, *plan_.prefetch.backward, -1);
  for (const UnitId target : targets) prefetch(target, State::pre_backward);
  auto& indices = at(unit).post_forward_indices;
  if (!targets.empty() || indices.empty()) return;
  const int index = indices.back();
  indices.pop_back();
  if (index > 0) {
    prefetch(post_forward_order_[static_cast<std::size_t>(index - 1)], State::pre_backward);
  }
}

}  // namespace foreshard::lowering
