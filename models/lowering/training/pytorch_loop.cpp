#include "models/lowering/training/pytorch_loop.hpp"

#include "models/sharding/implementation.hpp"
#include "models/sharding/pytorch_support.hpp"

namespace foreshard::lowering {

PyTorchLoop::PyTorchLoop(const Job& job, const RankPlace& place, Emitter& emit,
                         ShardingRuntime& runtime, OperatorSet operators, OperatorSet evaluation)
    : job_(job),
      plan_(job.plan),
      rules_(pytorch_rules(job.plan.pytorch)),
      emit_(emit),
      runtime_(runtime),
      optimizer_(job, place, emit, runtime),
      pass_(job, emit, runtime, std::move(operators)) {
  if (plan_.evaluation.every > 0) pass_.add_evaluation(std::move(evaluation));
}

void PyTorchLoop::setup(Program& target) {
  emit_.begin(target);
  emit_.set_phase(Phase::setup);
  emit_.focus_on_step();
  // Seen in recordings, where to_empty() gives DTensors their storage; which operator it is they do not
  // show.
  if (rules_.starts_with_temporaries && plan_.runtime == RuntimeName::fsdp2 &&
      model_setup(plan_) == ModelSetup::meta && !plan_.offload.parameters) {
    for (int n = 0; n < 2; ++n) {
      emit_.free(emit_.allocate({4, Category::temporaries, Role::scratch}));
    }
  }
  runtime_.allocate_shards([this](ModuleId module) { return allocate_buffers(module); });
  emit_.focus_on_step();
}

std::vector<BufferId> PyTorchLoop::allocate_buffers(ModuleId id) {
  const Module& module = job_.tree.modules[static_cast<std::size_t>(id)];
  emit_.focus(emit_.unit(), id);
  std::vector<BufferId> made;
  for (const std::int64_t bytes : rotary_buffers(module, job_.model, plan_)) {
    made.push_back(emit_.allocate(
        {bytes, Category::parameters, Role::rope_table, kNone, Stream::compute, false, true}));
  }
  return made;
}

void PyTorchLoop::step(Program& target, std::int64_t number, MicroSteps form) {
  emit_.begin(target);
  runtime_.begin_step();
  emit_.set_phase(Phase::forward);
  emit_.set_micro_step(0);
  emit_.focus_on_step();
  const auto range = emit_.range(Range::step);
  train(number, form);
  const std::int64_t every = plan_.evaluation.every;
  if (every == 0 || number % every != 0) return;
  emit_.set_micro_step(0);
  emit_.set_phase(Phase::evaluation);
  evaluate();
}

BufferId PyTorchLoop::copied_from_host(std::int64_t bytes, Category category, Role role,
                                       bool stays) {
  const BufferId host = emit_.allocate({bytes, category, role, kNone, Stream::compute, true});
  const BufferId device =
      emit_.allocate({bytes, category, role, kNone, Stream::compute, false, stays});
  emit_.copy(Stream::compute, Operator::copy_host_to_device, bytes, host, device);
  host_waits();
  emit_.free(host);
  return device;
}

void PyTorchLoop::free_shared(Shared which) {
  const BufferId buffer = std::exchange(pass_[which], kNone);
  if (buffer != kNone) emit_.free(buffer);
}

void PyTorchLoop::free_arguments() {
  for (const Shared held :
       {Shared::window_mask, Shared::mask, Shared::sines, Shared::cosines, Shared::positions,
        Shared::embedded_gradient, Shared::embedded}) {
    free_shared(held);
  }
}

}  // namespace foreshard::lowering
