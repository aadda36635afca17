#include "models/lowering/training/training_loop.hpp"

#include "models/lowering/training/staging.hpp"

namespace foreshard::lowering {

TrainingLoop::TrainingLoop(const Job& job, const RankPlace& place, Emitter& emit,
                           ShardingRuntime& runtime, OperatorSet operators, const RunVariant& run)
    : job_(job),
      plan_(job.plan),
      reports_before_update_(run.may_skip_updates),
      emit_(emit),
      runtime_(runtime),
      optimizer_(job, place, emit, runtime, buffers_, run),
      pass_(job, emit, runtime, std::move(operators)) {}

void TrainingLoop::step(Program& target, MicroSteps form) {
  emit_.begin(target);
  runtime_.begin_step();
  emit_.focus_on_step();
  emit_.set_phase(Phase::forward);
  emit_.set_micro_step(0);
  const auto range = emit_.range(Range::step);
  emit_.launch(Stream::compute, key_of(Operator::fill_zero, DType::fp64, 8), {}, {buffers_.loss});
  emit_micro_steps(emit_, runtime_, plan_, form, [this](int number) { micro_step(number); });
  if (reports_before_update_) {
    optimizer_.step([this] { report(); });
    emit_.set_phase(Phase::report);
    emit_.host_wait(emit_.record(Stream::compute));
  } else {
    optimizer_.step();
    report();
  }
  runtime_.end_step();
}

void TrainingLoop::micro_step(int number) {
  emit_.set_micro_step(number);
  emit_.focus_on_step();
  emit_.set_phase(Phase::forward);
  runtime_.begin_micro_step(number + 1 == plan_.batch.accumulation);
  load_batch(number);
  pass_.forward();
  pass_.backward();
  emit_.free(pass_[Shared::tokens]);
  emit_.free(pass_[Shared::targets]);
}

void TrainingLoop::load_batch(int number) {
  const std::size_t m = static_cast<std::size_t>(number);
  const std::int64_t T = plan_.tokens();
  const BufferId staging[] = {buffers_.staging_tokens[m], buffers_.staging_targets[m]};
  emit_.host_compute(key_of(Operator::load_batch, DType::int32, T), {}, staging, number);
  BufferId& tokens = pass_[Shared::tokens];
  BufferId& targets = pass_[Shared::targets];
  tokens = emit_.allocate({4 * T, Category::inputs, Role::tokens});
  targets = emit_.allocate({4 * T, Category::inputs, Role::targets});
  emit_.copy(Stream::compute, Operator::copy_host_to_device, 4 * T, staging[0], tokens);
  emit_.copy(Stream::compute, Operator::copy_host_to_device, 4 * T, staging[1], targets);
}

void TrainingLoop::report() {
  emit_.set_phase(Phase::report);
  emit_.focus_on_step();
  const BufferId own = buffers_.host_own_loss;
  if (own != kNone && job_.ranks > 1) {
    emit_.copy(Stream::compute, Operator::copy_device_to_host, 8, buffers_.loss, own);
  }
  if (job_.ranks > 1) {
    emit_.collective(Stream::compute, Group::world,
                     key_of(Operator::all_reduce, DType::fp64, 8, job_.ranks), buffers_.loss,
                     buffers_.loss, true);
  }
  emit_.copy(Stream::compute, Operator::copy_device_to_host, 8, buffers_.loss, buffers_.host_loss);
  if (!optimizes_on_host(plan_)) {
    emit_.copy(Stream::compute, Operator::copy_device_to_host, 16, buffers_.clip,
               buffers_.host_clip);
  }
  emit_.host_wait(emit_.record(Stream::compute));
  std::vector<BufferId> reads = {buffers_.host_loss, buffers_.host_clip};
  if (own != kNone) reads.push_back(own);
  emit_.host_compute(key_of(Operator::report, DType::fp64, 2), reads, {});
}

// The training loop's set-up: persistent buffers, and the parameters' first values.

void TrainingLoop::setup(Program& target) {
  emit_.begin(target);
  emit_.set_phase(Phase::setup);
  emit_.focus_on_step();
  allocate_buffers();
  runtime_.allocate_shards([](ModuleId) { return std::vector<BufferId>(); });
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
  if (plan_.operators == OperatorSetName::foreshard) {
    buffers_.host_own_loss = job_.ranks == 1
                                 ? buffers_.host_loss
                                 : persistent(8, Category::workspaces, Role::loss, true);
  }
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

// What the training loop leaves on the host for checkpoints and exported weights.

void TrainingLoop::keep_parameters(Program& target) {
  keep_on_host(target, [](const OptimizerTensors& t) {
    return std::vector<BufferId>(t.updated().begin(), t.updated().end());
  });
}

void TrainingLoop::keep_states(Program& target) {
  keep_on_host(target, [this](const OptimizerTensors& t) { return optimizer_.states(t.unit); });
}

template <typename BuffersOf>
void TrainingLoop::keep_on_host(Program& target, const BuffersOf& buffers_of) {
  emit_.begin(target);
  emit_.set_phase(Phase::report);
  emit_.set_micro_step(0);
  for (const OptimizerTensors& t : runtime_.optimizer_tensors()) {
    emit_.focus(t.unit, job_.units[static_cast<std::size_t>(t.unit)].modules[0]);
    Staging(emit_, buffers_of(t), true).copy_to_host();
  }
  emit_.focus_on_step();
  emit_.host_wait(emit_.record(Stream::compute));
}

}  // namespace foreshard::lowering
