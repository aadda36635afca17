#include "models/sharding/pytorch_device.hpp"

#include <algorithm>
#include <string>

#include "models/base/assertion.hpp"
#include "models/base/units.hpp"
#include "models/plan/cublas_workspace.hpp"
#include "models/sharding/cuda_device.hpp"

namespace foreshard {
namespace {

bool is_amd(const Machine& machine) {
  return machine.compute_capability.starts_with("gfx");
}

// at::cuda::parseChosenWorkspaceSize without the variable: 32 MiB on Hopper and, from PyTorch 2.12
// on, Blackwell, else two buffers of 4 MiB and eight of 16 KiB; on AMD 32 MiB, of MI300s 128.
std::int64_t default_workspace(const Machine& machine, PyTorchVersion version) {
  constexpr PyTorchVersion kBlackwellToo{2, 12};
  if (is_amd(machine)) {
    const std::string& name = machine.compute_capability;
    return (name.starts_with("gfx94") || name.starts_with("gfx95") ? 128 : 32) * kMiB.count;
  }
  const int capability = compute_capability(machine);
  const bool is_large = capability == 90 || (capability >= 100 && version >= kBlackwellToo);
  return is_large ? 32 * kMiB.count : 2 * 4 * kMiB.count + 8 * 16 * kKiB.count;
}

}  // namespace

const Machine& default_pytorch_machine() {
  const auto& machines = bundled_machines();
  const auto found = std::find_if(machines.begin(), machines.end(),
                                  [](const Machine& m) { return m.id == "h100-sxm"; });
  FORESHARD_ASSERT(found != machines.end(), "the catalogue lacks the default machine");
  return *found;
}

DeviceTraits pytorch_device(const Machine& machine, const PyTorchPlan& plan) {
  const std::int64_t configured = cublas_workspace_bytes(plan.cublas_workspace_config).value_or(0);
  const std::int64_t workspace =
      configured > 0 ? configured : default_workspace(machine, nearest_described(plan.version));
  return {DeviceKind::cuda, compute_capability(machine), static_cast<int>(machine.multiprocessors),
          Bytes{workspace}};
}

bool has_expandable_segments(const Machine& machine, const PyTorchPlan& plan) {
  constexpr PyTorchVersion kFirstOnAmd{2, 11};
  return !is_amd(machine) || plan.version >= kFirstOnAmd;
}

}  // namespace foreshard
