#include "models/lowering/training/pytorch_loop.hpp"

#include "models/sharding/implementation.hpp"
#include "models/sharding/pytorch_support.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kTokenBytes = 8;

}  // namespace

PyTorchLoop::PyTorchLoop(const Job& job, const RankPlace& place, Emitter& emit,
                         ShardingRuntime& runtime, OperatorSet operators)
    : job_(job),
      plan_(job.plan),
      rules_(pytorch_rules(job.plan.pytorch)),
      emit_(emit),
      runtime_(runtime),
      optimizer_(job, place, emit, runtime),
      pass_(job, emit, runtime, std::move(operators)) {}

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
  runtime_.allocate_shards([this](ModuleId module) { allocate_buffers(module); });
  emit_.focus_on_step();
}

void PyTorchLoop::allocate_buffers(ModuleId id) {
  const Module& module = job_.tree.modules[static_cast<std::size_t>(id)];
  emit_.focus(emit_.unit(), id);
  for (const std::int64_t bytes : rotary_buffers(module, job_.model, plan_)) {
    emit_.allocate(
        {bytes, Category::parameters, Role::rope_table, kNone, Stream::compute, false, true});
  }
}

void PyTorchLoop::step(Program& target, int number, MicroSteps form) {
  emit_.begin(target);
  runtime_.begin_step();
  emit_.set_phase(Phase::forward);
  emit_.set_micro_step(0);
  emit_.focus_on_step();
  const auto range = emit_.range(Range::step);
  if (plan_.pytorch.zero_grad == ZeroGrad::none && number > 1) runtime_.zero_gradients();
  emit_micro_steps(emit_, runtime_, static_cast<int>(plan_.batch.accumulation), form,
                   [this](int m) { micro_step(m); });
  optimizer_.step();
  runtime_.end_step();
  emit_.focus_on_step();
  for (const Shared input : {Shared::tokens, Shared::targets}) {
    emit_.free(std::exchange(pass_[input], kNone));
  }
  emit_.set_phase(Phase::report);
  emit_.host_wait(emit_.record(Stream::compute));  // the host reads the loss
}

void PyTorchLoop::micro_step(int number) {
  emit_.set_micro_step(number);
  emit_.focus_on_step();
  emit_.set_phase(Phase::forward);
  runtime_.begin_micro_step(number + 1 == plan_.batch.accumulation);
  load_batch();
  if (plan_.pytorch.attention_mask != AttentionMask::none) {
    pass_[Shared::attention_mask] = copy_to_device(Role::attention_mask);
  }
  pass_.forward();
  pass_.backward();
  // With the loss goes the graph, and with it what reentrant checkpointing calls blocks with.
  for (const Shared held :
       {Shared::root_gradient, Shared::logits, Shared::window_mask, Shared::mask, Shared::sines,
        Shared::cosines, Shared::positions, Shared::loss}) {
    const BufferId buffer = std::exchange(pass_[held], kNone);
    if (buffer != kNone) emit_.free(buffer);
  }
}

// Those of the micro-batch before live until the new ones are there.
void PyTorchLoop::load_batch() {
  for (const Shared input : {Shared::tokens, Shared::targets}) {
    const Role role = input == Shared::tokens ? Role::tokens : Role::targets;
    const BufferId before = std::exchange(pass_[input], copy_to_device(role));
    if (before != kNone) emit_.free(before);
  }
}

// From memory that is not pinned, so that the host waits for the copy, and for all that the compute
// stream did before.
BufferId PyTorchLoop::copy_to_device(Role role) {
  const std::int64_t bytes = kTokenBytes * plan_.tokens();
  const BufferId host =
      emit_.allocate({bytes, Category::inputs, role, kNone, Stream::compute, true});
  const BufferId device = emit_.allocate({bytes, Category::inputs, role});
  emit_.copy(Stream::compute, Operator::copy_host_to_device, bytes, host, device);
  emit_.host_wait(emit_.record(Stream::compute));
  emit_.free(host);
  return device;
}

}  // namespace foreshard::lowering
