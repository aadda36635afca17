#include "models/sharding/xla_device.hpp"

#include "models/plan/plan_words.hpp"

namespace foreshard {

Result<Plan> with_operators_of(const Machine* machine, Plan plan, const std::string& plan_file) {
  const bool is_on_tpu = machine != nullptr && is_tpu(*machine);
  if (is_on_tpu && describes_pytorch(plan.operators)) {
    return fail(plan_file, "operators",
                "are \"" + std::string(word(plan.operators)) +
                    "\", whose kernels are those of "
                    "GPUs, but " +
                    machine->id + " is a TPU; expected \"xla\"");
  }
  if (!is_on_tpu && plan.operators == OperatorSetName::xla) {
    return fail(plan_file, "operators",
                "are \"xla\", which is described for TPUs alone; expected --machine with a TPU, or "
                "other operators");
  }
  if (is_on_tpu) plan.operators = OperatorSetName::xla;
  return plan;
}

DeviceTraits xla_device() {
  DeviceTraits device;
  device.kind = DeviceKind::xla;
  device.matmul_workspace = Bytes{0};
  return device;
}

}  // namespace foreshard
