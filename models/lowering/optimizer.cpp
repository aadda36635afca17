// The set-up's persistent buffers, the optimizer phase, and the report that ends a step.
#include "models/lowering/lowering.hpp"

namespace foreshard::lowering {
namespace {

constexpr CostKey key_of(Operator op, DType dtype, std::int64_t n, std::int64_t m = 0) {
  return {op, dtype, dtype, dtype, {n, m}};
}

}  // namespace

void Lowering::setup(Program& target) {
  emit_.begin(target);
  emit_.phase = Phase::setup;
  emit_.module = 0;
  const auto persistent = [this](std::int64_t bytes, Category category, Role role,
                                 bool on_host = false) {
    return emit_.allocate({bytes, category, role, kNone, Stream::compute, on_host, true});
  };
  const std::int64_t S = plan_.batch.sequence, d = job_.model.head_dim;
  persistent_.workspace = persistent(kWorkspace.count, Category::workspaces, Role::workspace);
  persistent_.rope_table = persistent(S * d * 4, Category::workspaces, Role::rope_table);
  persistent_.loss = persistent(8, Category::workspaces, Role::loss);
  persistent_.clip = persistent(16, Category::workspaces, Role::clip);
  emit_.launch(Stream::compute, key_of(Operator::rope_table, DType::fp32, S, d), {},
               {persistent_.rope_table});
  for (int m = 0; m < plan_.batch.accumulation; ++m) {
    persistent_.staging_tokens.push_back(
        persistent(4 * plan_.tokens(), Category::inputs, Role::staging, true));
    persistent_.staging_targets.push_back(
        persistent(4 * plan_.tokens(), Category::inputs, Role::staging, true));
  }
  if (optimizes_on_host()) {
    persistent_.host_clip = persistent(16, Category::workspaces, Role::clip, true);
  }
  allocate_shards();
  initialize_shards();
  if (plan_.offload.activations) allocate_activation_copies();
  emit_.module = 0;
  emit_.unit = kNone;
  emit_.host_wait(emit_.record(Stream::compute));
  program_.loss = persistent_.loss;
  program_.clip = optimizes_on_host() ? persistent_.host_clip : persistent_.clip;
}

void Lowering::allocate_shards() {
  const DType storage = plan_.precision.storage;
  const bool on_host = plan_.offload.parameters;
  persistent_.units.resize(job_.units.size());
  for (std::size_t u = 0; u < job_.units.size(); ++u) {
    const UnitLayout& layout = program_.units[u];
    if (layout.parameters.empty()) continue;
    emit_.unit = static_cast<UnitId>(u);
    emit_.module = job_.units[u].modules[0];
    auto& buffers = persistent_.units[u];
    for (const ParameterShard& p : layout.parameters) {
      buffers.shards.push_back(
          emit_.allocate({p.padded * item_size(storage), Category::parameters, Role::shard,
                          emit_.parameter_name(p.parameter), Stream::compute, on_host, true}));
    }
    if (plan_.offload.optimizer && !on_host) {
      for (const ParameterShard& p : layout.parameters) {
        buffers.master_shards.push_back(
            emit_.allocate({p.padded * item_size(storage), Category::parameters, Role::master_shard,
                            emit_.parameter_name(p.parameter), Stream::compute, true, true}));
      }
    }
    if (optimizes_on_host()) {
      buffers.host_gradient =
          emit_.allocate({layout.padded * item_size(storage), Category::gradients,
                          Role::host_gradient, kNone, Stream::compute, true, true});
    }
  }
}

// The host writes every rank's shards; its masters first, where it keeps them.
void Lowering::initialize_shards() {
  const DType storage = plan_.precision.storage;
  emit_.host_wait(emit_.record(Stream::compute));  // the shards' memory is the compute stream's
  for (std::size_t u = 0; u < job_.units.size(); ++u) {
    const UnitLayout& layout = program_.units[u];
    if (layout.parameters.empty()) continue;
    emit_.unit = static_cast<UnitId>(u);
    emit_.module = job_.units[u].modules[0];
    const auto& buffers = persistent_.units[u];
    const auto& targets = buffers.master_shards.empty() ? buffers.shards : buffers.master_shards;
    emit_.host_compute(key_of(Operator::initialize_shards, storage, layout.padded), {}, targets);
    for (std::size_t i = 0; i < buffers.master_shards.size(); ++i) {
      emit_.copy(Stream::compute, Operator::copy_host_to_device,
                 layout.parameters[i].padded * item_size(storage), buffers.master_shards[i],
                 buffers.shards[i]);
    }
  }
}

void Lowering::optimizer_step(bool is_first) {
  emit_.phase = Phase::optimizer;
  emit_.module = 0;
  emit_.unit = kNone;
  const auto range = emit_.range(Range::optimizer);
  const BufferId norms = gradient_norms();
  if (plan_.offload.parameters) {
    clip_on_host(norms);
  } else {
    clip_on_device(norms);
  }
  emit_.free(norms);
  for (std::size_t u = 0; u < job_.units.size(); ++u) {
    if (program_.units[u].parameters.empty()) continue;
    emit_.unit = static_cast<UnitId>(u);
    emit_.module = job_.units[u].modules[0];
    if (is_first && plan_.optimizer.name == OptimizerName::adamw) create_states(emit_.unit);
    update(emit_.unit);
  }
  emit_.unit = kNone;
  emit_.module = 0;
  if (plan_.offload.optimizer && !plan_.offload.parameters) {
    emit_.wait_for(Stream::compute,
                   Stream::host_to_device);  // the next step's all-gathers wait for it
  }
  runtime_.zero_gradients();
}

// Sums of squares of this rank's shards, one slot a unit.
BufferId Lowering::gradient_norms() {
  const DType storage = plan_.precision.storage;
  const bool on_host = plan_.offload.parameters;
  std::int64_t slots = 0;
  for (const UnitLayout& layout : program_.units) slots += layout.parameters.empty() ? 0 : 1;
  const BufferId norms = emit_.allocate(
      {8 * slots, Category::temporaries, Role::norms, kNone, Stream::compute, on_host});
  int slot = 0;
  for (std::size_t u = 0; u < job_.units.size(); ++u) {
    if (program_.units[u].parameters.empty()) continue;
    emit_.unit = static_cast<UnitId>(u);
    emit_.module = job_.units[u].modules[0];
    const CostKey key = key_of(Operator::gradient_norm, storage, program_.units[u].padded);
    if (on_host) {
      emit_.host_compute(key, {&persistent_.units[u].host_gradient, 1}, {&norms, 1}, slot++);
    } else {
      const BufferId gradient = runtime_.reduced(emit_.unit).gradient;
      emit_.launch(Stream::compute, key, {gradient}, {norms}, slot++);
    }
  }
  emit_.unit = kNone;
  emit_.module = 0;
  return norms;
}

void Lowering::clip_on_device(BufferId norms) {
  const std::int64_t bytes = program_.buffers[static_cast<std::size_t>(norms)].bytes;
  const int ranks = program_.place.groups[static_cast<int>(Group::shard)].size;
  if (ranks > 1) {
    emit_.collective(Stream::compute, Group::shard,
                     key_of(Operator::all_reduce, DType::fp64, bytes, ranks), norms, norms);
  }
  emit_.launch(Stream::compute, key_of(Operator::clip_coefficient, DType::fp64, bytes / 8), {norms},
               {persistent_.clip});
  if (!optimizes_on_host()) return;
  emit_.copy(Stream::compute, Operator::copy_device_to_host, 16, persistent_.clip,
             persistent_.host_clip);
  emit_.host_wait(emit_.record(Stream::compute));
}

// The norms are the host's; only the sum over ranks goes through the device.
void Lowering::clip_on_host(BufferId norms) {
  const std::int64_t bytes = program_.buffers[static_cast<std::size_t>(norms)].bytes;
  if (program_.place.groups[static_cast<int>(Group::shard)].size == 1) {
    emit_.host_compute(key_of(Operator::clip_coefficient, DType::fp64, bytes / 8), {&norms, 1},
                       {&persistent_.host_clip, 1});
    return;
  }
  const BufferId on_device = emit_.allocate({bytes, Category::temporaries, Role::norms});
  emit_.copy(Stream::compute, Operator::copy_host_to_device, bytes, norms, on_device);
  clip_on_device(on_device);
  emit_.free(on_device);
}

void Lowering::create_states(UnitId unit) {
  auto& buffers = persistent_.units[static_cast<std::size_t>(unit)];
  const std::int64_t item = item_size(plan_.precision.optimizer_state);
  for (const ParameterShard& p : program_.units[static_cast<std::size_t>(unit)].parameters) {
    for (const Role role : {Role::exp_avg, Role::exp_avg_sq}) {
      const std::int64_t bytes = p.local * item;
      const BufferId state = emit_.allocate({bytes, Category::optimizer_states, role,
                                             emit_.parameter_name(p.parameter), Stream::compute,
                                             optimizes_on_host(), true});
      (role == Role::exp_avg ? buffers.exp_avg : buffers.exp_avg_sq).push_back(state);
      if (bytes == 0) continue;
      const CostKey zero = key_of(Operator::fill_zero, plan_.precision.optimizer_state, bytes);
      if (optimizes_on_host()) {
        emit_.host_compute(zero, {}, {&state, 1});
      } else {
        emit_.launch(Stream::compute, zero, {}, {state});
      }
    }
  }
}

void Lowering::update(UnitId unit) {
  auto& buffers = persistent_.units[static_cast<std::size_t>(unit)];
  const UnitLayout& layout = program_.units[static_cast<std::size_t>(unit)];
  const DType storage = plan_.precision.storage;
  const bool is_adamw = plan_.optimizer.name == OptimizerName::adamw;
  const CostKey key{is_adamw ? Operator::adamw : Operator::sgd,
                    storage,
                    storage,
                    is_adamw ? plan_.precision.optimizer_state : storage,
                    {layout.local}};
  const bool has_masters = !buffers.master_shards.empty();
  std::vector<BufferId> writes = has_masters ? buffers.master_shards : buffers.shards;
  writes.insert(writes.end(), buffers.exp_avg.begin(), buffers.exp_avg.end());
  writes.insert(writes.end(), buffers.exp_avg_sq.begin(), buffers.exp_avg_sq.end());
  if (!optimizes_on_host()) {
    const BufferId reads[] = {runtime_.reduced(unit).gradient, persistent_.clip};
    emit_.launch(Stream::compute, emit_.intern(key), reads, writes);
    return;
  }
  if (has_masters) emit_.host_wait(runtime_.reduced(unit).on_host);
  const BufferId reads[] = {buffers.host_gradient, persistent_.host_clip};
  emit_.host_compute(key, reads, writes);
  for (std::size_t i = 0; i < buffers.master_shards.size(); ++i) {
    emit_.copy(Stream::host_to_device, Operator::copy_host_to_device,
               layout.parameters[i].padded * item_size(storage), buffers.master_shards[i],
               buffers.shards[i]);
  }
}

void Lowering::report() {
  emit_.phase = Phase::report;
  emit_.unit = kNone;
  emit_.module = 0;
  if (job_.ranks > 1) {
    emit_.collective(Stream::compute, Group::world,
                     key_of(Operator::all_reduce, DType::fp64, 8, job_.ranks), persistent_.loss,
                     persistent_.loss, true);
  }
  emit_.host_wait(emit_.record(Stream::compute));
  const BufferId reads[] = {program_.loss, program_.clip};
  emit_.host_compute(key_of(Operator::report, DType::fp64, 2), reads, {});
}

}  // namespace foreshard::lowering
