// The training loop's set-up: persistent buffers, and the parameters' first values.
#include "models/lowering/training/staging.hpp"
#include "models/lowering/training/training_loop.hpp"

namespace foreshard::lowering {

void TrainingLoop::setup(Program& target) {
  emit_.begin(target);
  emit_.set_phase(Phase::setup);
  emit_.focus_on_step();
  allocate_buffers();
  runtime_.allocate_shards([](ModuleId) {});
  initialize_shards();
  pass_.allocate_host_copies();
  emit_.focus_on_step();
  emit_.host_wait(emit_.record(Stream::compute));
}

void TrainingLoop::allocate_buffers() {
  const auto persistent = [this](std::int64_t bytes, Category category, Role role,
                                 bool on_host = false) {
    return emit_.allocate({bytes, category, role, kNone, Stream::compute, on_host, true});
  };
  const std::int64_t S = plan_.batch.sequence, d = job_.model.head_dim;
  buffers_.workspace =
      persistent(job_.device.matmul_workspace.count, Category::workspaces, Role::workspace);
  buffers_.rope_table = persistent(S * d * 4, Category::workspaces, Role::rope_table);
  buffers_.loss = persistent(8, Category::workspaces, Role::loss);
  buffers_.clip = persistent(16, Category::workspaces, Role::clip);
  emit_.launch(Stream::compute, key_of(Operator::rope_table, DType::fp32, S, d), {},
               {buffers_.rope_table});
  for (int m = 0; m < plan_.batch.accumulation; ++m) {
    for (auto* staging : {&buffers_.staging_tokens, &buffers_.staging_targets}) {
      staging->push_back(persistent(4 * plan_.tokens(), Category::inputs, Role::staging, true));
    }
  }
  buffers_.host_loss = persistent(8, Category::workspaces, Role::loss, true);
  buffers_.host_clip = persistent(16, Category::workspaces, Role::clip, true);
  pass_[Shared::workspace] = buffers_.workspace;
  pass_[Shared::rope_table] = buffers_.rope_table;
  pass_[Shared::loss] = buffers_.loss;
}

// The host makes this rank's shards, unit by unit: where it keeps them or masters of them in place,
// else in staging memory.
void TrainingLoop::initialize_shards() {
  const DType storage = plan_.precision.storage;
  for (const OptimizerTensors& t : runtime_.optimizer_tensors()) {
    emit_.focus(t.unit, job_.units[static_cast<std::size_t>(t.unit)].modules[0]);
    Staging staging(emit_, t.updated());
    emit_.host_compute(key_of(Operator::initialize_shards, storage, t.padded), {}, staging.host());
    staging.copy_to_device();
    staging.free();
    for (std::size_t i = 0; i < t.master_shards.size(); ++i) {
      emit_.copy(Stream::compute, Operator::copy_host_to_device,
                 t.parameters[i].padded * item_size(storage), t.master_shards[i], t.shards[i]);
    }
  }
}

}  // namespace foreshard::lowering
