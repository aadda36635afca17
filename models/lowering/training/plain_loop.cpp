#include "models/lowering/training/plain_loop.hpp"

namespace foreshard::lowering {

void PlainLoop::train(std::int64_t number, MicroSteps form) {
  if (plan_.pytorch.zero_grad == ZeroGrad::none && number > 1) runtime_.zero_gradients();
  emit_micro_steps(emit_, runtime_, plan_, form, [this](int m) { micro_step(m); });
  optimizer_.step();
  runtime_.end_step();
  emit_.focus_on_step();
  free_batch();
  emit_.set_phase(Phase::report);
  host_waits();  // the host reads the loss
}

void PlainLoop::micro_step(int number) {
  emit_.set_micro_step(number);
  emit_.focus_on_step();
  emit_.set_phase(Phase::forward);
  runtime_.begin_micro_step(number + 1 == plan_.batch.accumulation);
  load_batch();
  enter_autocast();
  load_mask();
  pass_.forward();
  pass_.backward();
  free_shared(Shared::root_gradient);
  free_shared(Shared::logits);
  free_arguments();
  free_shared(Shared::loss);
}

// The host reads the loss of each batch.
void PlainLoop::evaluate() {
  for (std::int64_t batch = 0; batch < plan_.evaluation.batches; ++batch) {
    emit_.focus_on_step();
    runtime_.begin_evaluation();
    load_batch();
    load_mask();
    pass_.evaluate();
    emit_.focus_on_step();
    host_waits();
    free_shared(Shared::logits);
    free_shared(Shared::loss);
  }
  runtime_.end_step();
  emit_.focus_on_step();
  free_batch();
}

// Those of the batch before live until the new ones are there.
void PlainLoop::load_batch() {
  for (const Shared input : {Shared::tokens, Shared::targets}) {
    const Role role = input == Shared::tokens ? Role::tokens : Role::targets;
    const BufferId before = std::exchange(
        pass_[input], copied_from_host(kTokenBytes * plan_.tokens(), Category::inputs, role));
    if (before != kNone) emit_.free(before);
  }
}

// Once in a process it asks whether the device takes bf16, which below sm_80 a tensor has to show
// (_check_bf16_tensor_supported).
void PlainLoop::enter_autocast() {
  constexpr int kAmpere = 80;
  const int capability = job_.device.compute_capability;
  const bool is_emulated = capability != 0 && capability < kAmpere;
  if (plan_.pytorch.autocast == Autocast::none || !is_emulated || has_entered_autocast_) return;
  has_entered_autocast_ = true;
  emit_.free(copied_from_host(2, Category::temporaries, Role::scratch));
}

// The call of the model alone holds it.
void PlainLoop::load_mask() {
  if (plan_.pytorch.attention_mask == AttentionMask::none) return;
  pass_[Shared::attention_mask] =
      copied_from_host(kTokenBytes * plan_.tokens(), Category::inputs, Role::attention_mask);
}

void PlainLoop::free_batch() {
  free_shared(Shared::tokens);
  free_shared(Shared::targets);
}

}  // namespace foreshard::lowering
