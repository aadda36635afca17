// The runtime's set-up: what a rank keeps of every parameter (section 1.2).
#include "models/lowering/runtimes/fsdp2.hpp"
#include "models/lowering/runtimes/module_order.hpp"
#include "models/lowering/runtimes/whole_parameters.hpp"
#include "models/sharding/pytorch_support.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {

void Fsdp2::allocate_shards(const ModuleBuffers& buffers_of) {
  held_.resize(job_.units.size());
  if (is_pytorch_) {
    allocate_as_pytorch(buffers_of);
    return select_trained();
  }
  for (std::size_t u = 0; u < job_.units.size(); ++u) {
    focus(static_cast<UnitId>(u));
    held_[u].shards.reserve(program_.units[u].parameters.size());
    for (const ParameterShard& p : program_.units[u].parameters) {
      held_[u].shards.push_back(allocate_shard(p, p.padded));
    }
    allocate_masters(static_cast<UnitId>(u));
  }
  select_trained();
}

void Fsdp2::select_trained() {
  if (trained_.empty()) return;
  for (std::size_t u = 0; u < held_.size(); ++u) {
    held_[u].trained.clear();
    for (const ParameterShard& p : trained_[u].parameters) {
      const auto& place = places_[static_cast<std::size_t>(p.parameter)];
      held_[u].trained.push_back(held_[u].shards[static_cast<std::size_t>(place.index)]);
    }
  }
}

BufferId Fsdp2::allocate_shard(const ParameterShard& p, std::int64_t elements) {
  return emit_.allocate({elements * item_size(storage_of(plan_, parameter_of(p))),
                         Category::parameters, Role::shard, emit_.parameter_name(p.parameter),
                         Stream::compute, plan_.offload.parameters, true});
}

// Where the host optimizes: its copies of the parameters, unless it has these already, and the
// gradient.
void Fsdp2::allocate_masters(UnitId unit) {
  const UnitLayout& shape = trained(unit);
  if (shape.parameters.empty()) return;
  const bool on_host = plan_.offload.parameters;
  const std::int64_t element = item_size(trained_storage_);
  UnitShards& held = held_[static_cast<std::size_t>(unit)];
  if (plan_.offload.optimizer && !on_host) {
    for (const ParameterShard& p : shape.parameters) {
      held.master_shards.push_back(
          emit_.allocate({p.padded * element, Category::parameters, Role::master_shard,
                          emit_.parameter_name(p.parameter), Stream::compute, true, true}));
    }
  }
  if (on_host || plan_.offload.optimizer) {
    held.host_gradient = emit_.allocate({shape.padded * element, Category::gradients,
                                         Role::host_gradient, kNone, Stream::compute, true, true});
  }
}

void Fsdp2::allocate_as_pytorch(const ModuleBuffers& buffers_of) {
  for (std::size_t u = 0; u < job_.units.size(); ++u) {
    held_[u].shards.resize(layout(static_cast<UnitId>(u)).parameters.size(), kNone);
  }
  if (model_setup(plan_) == ModelSetup::meta) {
    give_shards_storage(buffers_of);
  } else {
    shard_whole_parameters(buffers_of);
  }
  for (std::size_t u = 0; u < job_.units.size(); ++u) allocate_masters(static_cast<UnitId>(u));
}

// A model made on the meta device, sharded, then to_empty(): modules in post-order take their shards
// without padding, and once a unit's module is done uneven shards are replaced by padded ones, in the
// order of the unit's parameters.
void Fsdp2::give_shards_storage(const ModuleBuffers& buffers_of) {
  std::vector<UnitId> unit_of(job_.tree.modules.size(), kNone);
  for (std::size_t u = 0; u < job_.units.size(); ++u) {
    for (const ModuleId m : job_.units[u].modules) {
      unit_of[static_cast<std::size_t>(m)] = static_cast<UnitId>(u);
    }
  }
  for (const ModuleId id : post_order(job_.tree)) {
    for (const ParameterId parameter : job_.tree.modules[static_cast<std::size_t>(id)].parameters) {
      const ParameterPlace& place = places_[static_cast<std::size_t>(parameter)];
      BufferId& shard =
          held_[static_cast<std::size_t>(place.unit)].shards[static_cast<std::size_t>(place.index)];
      const auto& p = layout(place.unit).parameters[static_cast<std::size_t>(place.index)];
      emit_.focus(place.unit, id);
      const BufferId before = std::exchange(shard, allocate_shard(p, p.local));
      if (before != kNone)
        emit_.free(before);  // tied: its second module takes new storage for both
    }
    buffers_of(id);
    const UnitId unit = unit_of[static_cast<std::size_t>(id)];
    if (unit != kNone) pad_shards(unit);
  }
}

// A model with storage: fully_shard moves what a group manages to the device (_move_states_to_device)
// unless it is there, shards each parameter (_init_sharded_param), and drops the whole ones when it
// returns.
void Fsdp2::shard_whole_parameters(const ModuleBuffers& buffers_of) {
  WholeParameters wholes(job_, emit_, Role::unsharded, false);
  const bool is_on_device = model_setup(plan_) == ModelSetup::device;
  if (is_on_device) wholes.make_on_device(buffers_of);
  const ManagedModules managed(job_);
  for (const UnitId unit : wrapping_order(job_)) {
    if (!is_on_device) {
      const std::vector<ModuleId> modules = managed.depth_first(unit);
      for (const ModuleId id : modules) wholes.allocate(id);
      for (const ModuleId id : modules) buffers_of(id);
    }
    focus(unit);
    const std::vector<BufferId> originals = wholes.of(unit);
    UnitShards& held = held_[static_cast<std::size_t>(unit)];
    for (std::size_t i = 0; i < originals.size(); ++i) {
      held.shards[i] = cut_shard(layout(unit).parameters[i], originals[i]);
    }
    for (const BufferId original : originals) emit_.free(original);
  }
}

// One for the host is made on the device first.
BufferId Fsdp2::cut_shard(const ParameterShard& p, BufferId whole) {
  const DType storage = plan_.precision.storage;
  const bool on_host = plan_.offload.parameters;
  const BufferId cut = on_host
                           ? emit_.allocate({p.padded * item_size(storage), Category::temporaries,
                                             Role::scratch, emit_.parameter_name(p.parameter)})
                           : allocate_shard(p, p.padded);
  if (p.local > 0) {
    emit_.launch(Stream::compute, {Operator::cast, storage, storage, storage, {p.local}}, {whole},
                 {cut});
  }
  if (!on_host) return cut;
  const BufferId shard = allocate_shard(p, p.padded);
  emit_.copy(Stream::compute, Operator::copy_device_to_host, emit_.buffer(cut).bytes, cut, shard);
  emit_.host_wait(emit_.record(Stream::compute));
  emit_.free(cut);
  return shard;
}

void Fsdp2::pad_shards(UnitId unit) {
  focus(unit);
  UnitShards& held = held_[static_cast<std::size_t>(unit)];
  for (std::size_t i = 0; i < held.shards.size(); ++i) {
    const ParameterShard& p = layout(unit).parameters[i];
    BufferId& shard = held.shards[i];
    const std::int64_t element = item_size(storage_of(plan_, parameter_of(p)));
    if (shard == kNone || emit_.buffer(shard).bytes == p.padded * element) continue;
    const BufferId unpadded = std::exchange(shard, allocate_shard(p, p.padded));
    emit_.free(unpadded);
  }
}

// Up to 2.9 the first forward pads uneven shards once more; what the set-up padded is freed by then.
void Fsdp2::pad_shards_again() {
  if (!rules_.pads_at_first_forward || plan_.offload.parameters) return;
  for (std::size_t u = 0; u < held_.size(); ++u) {
    focus(static_cast<UnitId>(u));
    for (std::size_t i = 0; i < held_[u].shards.size(); ++i) {
      const ParameterShard& p = layout(static_cast<UnitId>(u)).parameters[i];
      if (p.local == p.padded) continue;
      BufferId& shard = held_[u].shards[i];
      const BufferId before = std::exchange(shard, allocate_shard(p, p.padded));
      emit_.free(before);
    }
  }
  select_trained();
}

}  // namespace foreshard::lowering
