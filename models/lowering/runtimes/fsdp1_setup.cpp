// The runtime's set-up and what it leaves to the optimizer (section 2.1).
#include <algorithm>

#include "models/lowering/runtimes/fsdp1.hpp"
#include "models/lowering/runtimes/module_order.hpp"
#include "models/lowering/runtimes/whole_parameters.hpp"
#include "models/sharding/accelerate.hpp"
#include "models/sharding/pytorch_support.hpp"

namespace foreshard::lowering {

// Units are wrapped inner ones first, each by a FullyShardedDataParallel that flattens and shards what is
// left to it.
void Fsdp1::allocate_shards(const ModuleBuffers& given) {
  const ModuleBuffers buffers_of = [&](ModuleId module) {
    std::vector<BufferId> made = given(module);
    buffers_.insert(buffers_.end(), made.begin(), made.end());
    return made;
  };
  WholeParameters wholes(job_, emit_, Role::unsharded, false);
  const ModelSetup setup = model_setup(plan_);
  if (setup == ModelSetup::device) wholes.make_on_device(buffers_of);
  const ManagedModules managed(job_);
  for (const UnitId unit : wrapping_order(job_)) {
    const std::vector<ModuleId> modules = managed.breadth_first(unit);
    if (setup == ModelSetup::meta) {  // _materialize_with_param_init_fn
      for (const ModuleId id : modules) {
        wholes.allocate(id);
        buffers_of(id);
      }
    } else if (setup == ModelSetup::host) {  // _move_module_to_device
      for (const ModuleId id : modules) wholes.allocate(id);
      for (const ModuleId id : modules) buffers_of(id);
    }
    flatten(unit, wholes.of(unit));
  }
}

// FlatParamHandle's flat tensor, its shard, and the end of what they were made from. Without a shard to
// cut, the flat tensor stays.
void Fsdp1::flatten(UnitId unit, std::vector<BufferId> originals) {
  if (!is_managed(unit)) return;
  focus(unit);
  const bool on_host = plan_.offload.parameters;
  BufferId kept = concatenate_whole(unit, originals);
  if (place_[Group::shard].size > 1) cut_shard(unit, kept);
  const auto free_originals = [&] {
    for (const BufferId original : originals) emit_.free(original);
  };
  const bool are_views = plan_.pytorch.use_orig_params;  // from now on, of the shard
  if (are_views) free_originals();
  if (on_host) {
    const std::int64_t shard = flat(unit).layout.padded;
    const BufferId host = emit_.allocate(shard_of(shard, true));
    emit_.copy(Stream::compute, Operator::copy_device_to_host, emit_.buffer(host).bytes, kept,
               host);
    emit_.host_wait(emit_.record(Stream::compute));
    emit_.free(std::exchange(kept, host));
    held(unit).host_gradient =
        emit_.allocate({emit_.buffer(host).bytes, Category::gradients, Role::host_gradient, kNone,
                        Stream::compute, true, true});
  }
  held(unit).shard = kept;
  if (are_views) return;
  std::reverse(originals.begin(), originals.end());
  free_originals();
}

Emitter::BufferSpec Fsdp1::shard_of(std::int64_t elements, bool on_host) const {
  return {elements * item_size(plan_.precision.storage),
          Category::parameters,
          Role::shard,
          kNone,
          Stream::compute,
          on_host,
          on_host == plan_.offload.parameters};
}

// _init_flat_param_and_metadata. Paddings (_construct_padding_tensor) live until it returns, which first
// drops its list and last the variable that holds the last of them.
BufferId Fsdp1::concatenate_whole(UnitId unit, const std::vector<BufferId>& originals) {
  const std::int64_t element = item_size(plan_.precision.storage);
  std::vector<BufferId> paddings;
  for (const std::int64_t elements : flat(unit).paddings) {
    const Emitter::BufferSpec padding = {elements * element, Category::temporaries, Role::scratch};
    const BufferId ones = emit_.allocate(padding);
    paddings.push_back(emit_.allocate(padding));
    emit_.free(ones);
  }
  const Emitter::BufferSpec uncut = {flat(unit).numel * element, Category::parameters,
                                     Role::unsharded};
  const bool is_cut = place_[Group::shard].size > 1;
  const BufferId whole = emit_.allocate(is_cut ? uncut : shard_of(flat(unit).numel, false));
  emit_.launch(Stream::compute,
               emit_.intern({Operator::memory_bound,
                             DType::fp32,
                             DType::fp32,
                             DType::fp32,
                             {flat(unit).layout.numel * element, uncut.bytes}}),
               emit_.intern_operator("aten::cat"), originals, {&whole, 1});
  if (paddings.empty()) return whole;
  std::reverse(paddings.begin(), paddings.end() - 1);
  for (const BufferId padding : paddings) emit_.free(padding);
  return whole;
}

// FlatParamHandle._get_shard, in place of what it is cut from. Where use_orig_params has not padded the
// whole, the last shards are padded.
void Fsdp1::cut_shard(UnitId unit, BufferId& kept) {
  const DType storage = plan_.precision.storage;
  const std::int64_t shard = flat(unit).layout.padded;
  const std::int64_t chunk = flat(unit).cut;
  const auto copied = [&](BufferId from, const Emitter::BufferSpec& to) {
    const BufferId made = emit_.allocate(to);
    if (chunk == 0) return made;
    emit_.launch(Stream::compute, {Operator::cast, storage, storage, storage, {chunk}}, {from},
                 {made});
    return made;
  };
  if (chunk == shard) return emit_.free(std::exchange(kept, copied(kept, shard_of(shard, false))));
  const BufferId clone =
      copied(kept, {chunk * item_size(storage), Category::temporaries, Role::scratch, kNone});
  const BufferId padded = copied(clone, shard_of(shard, false));
  emit_.free(clone);
  emit_.free(std::exchange(kept, padded));
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
    std::int64_t elements = 0;
    for (const ParameterShard& piece : trained_[u]) elements += piece.local;
    out.push_back({.unit = static_cast<UnitId>(u),
                   .parameters = trained_[u],
                   .shards = {&held.shard, 1},
                   .master_shards = {},
                   .padded = layout.padded,
                   .local = elements,
                   .gradient = states_[u].has_gradient ? held.gradient() : kNone,
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
  for (std::size_t u = 0; u < states_.size(); ++u) free_gradient(static_cast<UnitId>(u));
}

// _reset_flat_param_grad_info_if_needed: a shard that has frozen parameters alone has no view of its
// gradient, which goes as if all had been cleared.
void Fsdp1::free_gradients_without_views() {
  if (!plan_.pytorch.use_orig_params) return;
  for (std::size_t u = 0; u < states_.size(); ++u) {
    if (trained_[u].empty()) free_gradient(static_cast<UnitId>(u));
  }
}

void Fsdp1::free_gradient(UnitId unit) {
  if (!std::exchange(at(unit).has_gradient, false)) return;
  emit_.free(held(unit).gradient());
  held(unit).current = 0;
}

}  // namespace foreshard::lowering
