#include "models/lowering/training/training_loop.hpp"

namespace foreshard::lowering {

TrainingLoop::TrainingLoop(const Job& job, const RankPlace& place, Emitter& emit,
                           ShardingRuntime& runtime, OperatorSet operators, const RunVariant& run)
    : job_(job),
      plan_(job.plan),
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
  emit_micro_steps(emit_, runtime_, static_cast<int>(plan_.batch.accumulation), form,
                   [this](int number) { micro_step(number); });
  optimizer_.step();
  report();
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
  const BufferId reads[] = {buffers_.host_loss, buffers_.host_clip};
  emit_.host_compute(key_of(Operator::report, DType::fp64, 2), reads, {});
}

}  // namespace foreshard::lowering
