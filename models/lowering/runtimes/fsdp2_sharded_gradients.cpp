// What becomes of a reduced gradient: the sharded gradient that the optimizer takes, or its copy on the
// host (sections 1.9, 1.10 and 1.12).
#include <algorithm>

#include "models/lowering/runtimes/fsdp2.hpp"

namespace foreshard::lowering {

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

// Steps 9 and 10: the cast to the storage type, accumulation into what earlier micro-steps reduced,
// the copy to the host. `late` collects what dies when foreach_reduce returns.
void Fsdp2::take_sharded_gradient(UnitId unit, const ReducedGradient& sum, Stream stream,
                                  std::vector<BufferId>& late) {
  UnitState& s = at(unit);
  const BufferId output = sum.output;
  const std::int64_t elements = trained(unit).padded;
  const DType storage = trained_storage_;
  const bool is_replicated = stream == Stream::all_reduce;
  BufferId gradient = output;
  if (reduce_type_ != storage) {
    gradient = allocate_sharded_gradient(unit, {elements * item_size(storage), Category::gradients,
                                                Role::sharded_gradient, kNone, stream});
    emit_.launch(stream, {Operator::cast, storage, sum.type, storage, {elements}}, {sum.values},
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
  if (copies_gradients_last(plan_) && is_last_micro_step_) {
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
  const DType storage = trained_storage_;
  const std::int64_t elements = trained(unit).padded, bytes = elements * item_size(storage);
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

std::vector<OptimizerTensors> Fsdp2::optimizer_tensors() const {
  std::vector<OptimizerTensors> out;
  out.reserve(states_.size());
  for (std::size_t u = 0; u < states_.size(); ++u) {
    const UnitLayout& shape = trained(static_cast<UnitId>(u));
    if (shape.parameters.empty()) continue;
    const UnitShards& held = held_[u];
    const UnitState& state = states_[u];
    out.push_back({static_cast<UnitId>(u), shape.parameters,
                   trained_.empty() ? held.shards : held.trained, held.master_shards, shape.padded,
                   shape.local, state.reduced, held.host_gradient, state.on_host});
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
    ParameterId last = kNone;
    for (const ParameterShard& p : trained(static_cast<UnitId>(u)).parameters)
      last = std::max(last, p.parameter);
    order.emplace_back(last, static_cast<UnitId>(u));
  }
  std::sort(order.begin(), order.end());
  for (const auto& [last, unit] : order) {
    focus(unit);
    emit_.free(std::exchange(at(unit).reduced, kNone));
  }
  focus(kNone);
}

}  // namespace foreshard::lowering
