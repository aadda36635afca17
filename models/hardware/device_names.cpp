#include "models/hardware/device_names.hpp"

#include <algorithm>
#include <array>

namespace foreshard {
namespace {

struct DeviceName {
  std::string_view reported;
  std::string_view id;
};

// As returned by torch.cuda.get_device_name, newer drivers with the vendor's name before.
constexpr std::array kNames{
    DeviceName{"Tesla V100-SXM2-32GB", "v100-sxm2-32"},
    DeviceName{"Tesla V100-SXM2-16GB", "v100-sxm2-16"},
    DeviceName{"Tesla T4", "t4"},
    DeviceName{"A10G", "a10g"},
    DeviceName{"A100-SXM4-40GB", "a100-sxm-40"},
    DeviceName{"A100-PG509-200", "a100-sxm-40"},
    DeviceName{"A100-SXM4-80GB", "a100-sxm-80"},
    DeviceName{"A100 80GB PCIe", "a100-pcie-80"},
    DeviceName{"L4", "l4"},
    DeviceName{"L40S", "l40s"},
    DeviceName{"GeForce RTX 3090", "rtx3090"},
    DeviceName{"GeForce RTX 4090", "rtx4090"},
    DeviceName{"GeForce RTX 5090", "rtx5090"},
    DeviceName{"H100 80GB HBM3", "h100-sxm"},
    DeviceName{"H100 PCIe", "h100-pcie"},
    DeviceName{"H100 NVL", "h100-nvl"},
    DeviceName{"H800", "h800"},
    DeviceName{"H20", "h20"},
    DeviceName{"RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
    DeviceName{"RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
    DeviceName{"A40", "a40"},
    DeviceName{"RTX A6000", "rtx-a6000"},
    DeviceName{"GB300", "gb300"},
    DeviceName{"B300 SXM6 AC", "b300"},
    DeviceName{"H200", "h200"},
    DeviceName{"GH200 480GB", "gh200-96"},
    DeviceName{"B200", "b200"},
    DeviceName{"GB200", "gb200"},
    DeviceName{"AMD Instinct MI300X", "mi300x"},
    DeviceName{"AMD Instinct MI325X", "mi325x"}};

}  // namespace

std::optional<Machine> machine_reported_as(std::string_view device) {
  constexpr std::string_view kVendor = "NVIDIA ";
  if (device.starts_with(kVendor)) device.remove_prefix(kVendor.size());
  const auto named = std::find_if(kNames.begin(), kNames.end(), [&](const DeviceName& known) {
    return known.reported == device;
  });
  if (named == kNames.end()) return std::nullopt;
  const auto& all = bundled_machines();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Machine& m) { return m.id == named->id; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace foreshard
