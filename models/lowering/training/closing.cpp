// What the training loop leaves on the host for checkpoints and exported weights.
#include "models/lowering/training/staging.hpp"
#include "models/lowering/training/training_loop.hpp"

namespace foreshard::lowering {

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
