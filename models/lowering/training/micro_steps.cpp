#include "models/lowering/training/micro_steps.hpp"

namespace foreshard::lowering {

constexpr int kRepeated = 2;

void emit_micro_steps(Emitter& emit, const ShardingRuntime& runtime, const Plan& plan,
                      MicroSteps form, const std::function<void(int number)>& micro_step) {
  const auto count = static_cast<int>(plan.batch.accumulation);
  std::vector<int> written{0, 1, kRepeated};
  if (last_micro_step_differs(plan)) written.push_back(count - 1);
  const int more = count - static_cast<int>(written.size());
  if (form == MicroSteps::each || more <= 0 || !runtime.repeats_micro_steps()) {
    for (int m = 0; m < count; ++m) micro_step(m);
    return;
  }
  for (const int m : written) {
    if (m == kRepeated) emit.begin_repetition();
    micro_step(m);
    if (m == kRepeated) emit.end_repetition(more);
  }
  emit.set_micro_step(count - 1);
}

}  // namespace foreshard::lowering
