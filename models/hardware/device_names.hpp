// Which machine of the catalogue a device is, by the name its driver reports.
#pragma once

#include <optional>
#include <string_view>

#include "models/hardware/hardware.hpp"

namespace foreshard {

// "NVIDIA H100 80GB HBM3" is h100-sxm. Nothing for devices the catalogue lacks.
std::optional<Machine> machine_reported_as(std::string_view device);

}  // namespace foreshard
