// The runtime's set-up and what it leaves to the optimizer (section 2.1).
#include <algorithm>

#include "models/lowering/runtimes/fsdp1.hpp"
#include "models/sharding/accelerate.hpp"

namespace foreshard::lowering {

// A model made on the meta device, then to_empty(): whole parameters, module by module. Then units,
// the inner ones first, are flattened and sharded. A model that is larger than the device cannot have
// been made so: it is made on the host, and FSDP moves each unit's parameters as it shards them.
void Fsdp1::allocate_shards(const ModuleBuffers& given) {
  const ModuleBuffers buffers_of = [&](ModuleId module) {
    std::vector<BufferId> made = given(module);
    buffers_.insert(buffers_.end(), made.begin(), made.end());
    return made;
  };
  std::vector<BufferId> wholes(places_.size(), kNone);
  std::int64_t bytes = 0;
  for (const Parameter& p : job_.tree.parameters) {
    bytes += p.numel() * item_size(plan_.precision.storage);
  }
  const bool comes_by_unit = job_.machine && bytes > job_.machine->memory.count;
  if (!comes_by_unit) allocate_module(0, wholes, buffers_of);
  flatten_below(0, wholes);
  if (!comes_by_unit) return;
  for (std::size_t m = 0; m < job_.tree.modules.size(); ++m) buffers_of(static_cast<ModuleId>(m));
}

BufferId Fsdp1::allocate_whole(ParameterId parameter) {
  const std::int64_t numel = job_.tree.parameters[static_cast<std::size_t>(parameter)].numel();
  return emit_.allocate({numel * item_size(plan_.precision.storage), Category::parameters,
                         Role::unsharded, emit_.parameter_name(parameter)});
}

void Fsdp1::allocate_module(ModuleId id, std::vector<BufferId>& wholes,
                            const ModuleBuffers& buffers_of) {
  const Module& module = job_.tree.modules[static_cast<std::size_t>(id)];
  for (const ModuleId child : module.children) allocate_module(child, wholes, buffers_of);
  for (const ParameterId parameter : module.parameters) {
    BufferId& whole = wholes[static_cast<std::size_t>(parameter)];
    if (whole != kNone) continue;  // tied
    emit_.focus(places_[static_cast<std::size_t>(parameter)].unit, id);
    whole = allocate_whole(parameter);
  }
  buffers_of(id);
}

void Fsdp1::flatten_below(ModuleId id, std::vector<BufferId>& wholes) {
  for (const ModuleId child : job_.tree.modules[static_cast<std::size_t>(id)].children) {
    flatten_below(child, wholes);
  }
  for (std::size_t u = 0; u < job_.units.size(); ++u) {
    if (job_.units[u].modules[0] == id) flatten(static_cast<UnitId>(u), wholes);
  }
}

// FlatParamHandle's flat tensor, its shard, and the end of what they were made from. Without a shard to
// cut, the flat tensor stays.
void Fsdp1::flatten(UnitId unit, std::vector<BufferId>& wholes) {
  if (!is_managed(unit)) return;
  focus(unit);
  const DType storage = plan_.precision.storage;
  const std::int64_t element = item_size(storage), shard = flat(unit).layout.padded;
  const bool is_cut = place_[Group::shard].size > 1, on_host = plan_.offload.parameters;
  std::vector<BufferId> originals;
  for (const ParameterId p : job_.units[static_cast<std::size_t>(unit)].parameters) {
    BufferId& whole = wholes[static_cast<std::size_t>(p)];
    if (whole == kNone) whole = allocate_whole(p);
    originals.push_back(whole);
  }
  const auto shard_of = [&](bool is_on_host) {
    return Emitter::BufferSpec{shard * element, Category::parameters, Role::shard,          kNone,
                               Stream::compute, is_on_host,           is_on_host == on_host};
  };
  const auto moved = [&](BufferId from, const Emitter::BufferSpec& to) {
    const BufferId made = emit_.allocate(to);
    if (to.on_host) {
      emit_.copy(Stream::compute, Operator::copy_device_to_host, to.bytes, from, made);
    } else {
      emit_.launch(Stream::compute, {Operator::cast, storage, storage, storage, {shard}}, {from},
                   {made});
    }
    return made;
  };
  const Emitter::BufferSpec uncut = {flat(unit).numel * element, Category::parameters,
                                     Role::unsharded};
  BufferId kept = emit_.allocate(is_cut ? uncut : shard_of(false));
  emit_.launch(Stream::compute,
               emit_.intern({Operator::memory_bound,
                             DType::fp32,
                             DType::fp32,
                             DType::fp32,
                             {flat(unit).layout.numel * element, uncut.bytes}}),
               emit_.intern_operator("aten::cat"), originals, {&kept, 1});
  if (is_cut) {
    const BufferId piece = moved(kept, shard_of(false));
    emit_.free(std::exchange(kept, piece));
  }
  if (!plan_.pytorch.use_orig_params) std::reverse(originals.begin(), originals.end());
  for (const BufferId original : originals) emit_.free(original);
  if (on_host) {
    const BufferId host = moved(kept, shard_of(true));
    emit_.host_wait(emit_.record(Stream::compute));
    emit_.free(std::exchange(kept, host));
    held(unit).host_gradient =
        emit_.allocate({shard * element, Category::gradients, Role::host_gradient, kNone,
                        Stream::compute, true, true});
  }
  held(unit).shard = kept;
}

// buffer_dtype of the mixed precision (_cast_buffers_to_dtype_and_device).
void Fsdp1::cast_buffers() {
  if (!casts_buffers(plan_)) return;
  const DType type = plan_.precision.param;
  for (BufferId& buffer : buffers_) {
    const std::int64_t elements = emit_.buffer(buffer).bytes / item_size(DType::fp32);
    const BufferId cast = emit_.allocate({elements * item_size(type), Category::parameters,
                                          Role::rope_table, kNone, Stream::compute, false, true});
    emit_.launch(Stream::compute, {Operator::cast, type, DType::fp32, type, {elements}}, {buffer},
                 {cast});
    emit_.free(std::exchange(buffer, cast));
  }
}

void Fsdp1::initialize_attributes() {
  cast_buffers();
  for (std::size_t u = 0; u < states_.size(); ++u) {
    const auto unit = static_cast<UnitId>(u);
    if (!is_managed(unit)) continue;
    focus(unit);
    for (const auto& [elements, type] : lazy_tensors(unit)) {
      emit_.free(
          emit_.allocate({elements * item_size(type), Category::temporaries, Role::unsharded}));
    }
  }
  focus(0);
}

std::vector<OptimizerTensors> Fsdp1::optimizer_tensors() const {
  std::vector<OptimizerTensors> out;
  for (std::size_t u = 0; u < states_.size(); ++u) {
    const UnitLayout& layout = flat_[u].layout;
    if (trained_[u].empty()) continue;
    const Held& held = held_[u];
    out.push_back({.unit = static_cast<UnitId>(u),
                   .parameters = trained_[u],
                   .shards = {&held.shard, 1},
                   .master_shards = {},
                   .padded = layout.padded,
                   .local = layout.local,
                   .gradient = states_[u].has_gradient ? held.gradient : kNone,
                   .host_gradient = held.host_gradient});
  }
  return out;
}

// With use_orig_params the parameters' gradients are views: what they lie in goes when the next forward
// finds them gone.
void Fsdp1::zero_gradients() {
  if (plan_.pytorch.use_orig_params) {
    clears_gradients_ = true;
  } else {
    free_gradients();
  }
}

void Fsdp1::free_gradients() {
  for (const Stream stream : reduction_streams()) emit_.wait_for(stream, Stream::compute);
  for (std::size_t u = 0; u < states_.size(); ++u) {
    if (std::exchange(states_[u].has_gradient, false)) emit_.free(held_[u].gradient);
  }
}

}  // namespace foreshard::lowering
