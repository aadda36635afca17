// What of a device's work is communication, by the words of the libraries that do it. Where a recording says
// itself that work is a collective, that goes first.
#pragma once

#include <string_view>

namespace foreshard::traces {

// Kernels of NCCL and RCCL in all spellings, MSCCL and MSCCL++, oneCCL and Huawei's, DeepEP and NVSHMEM, of
// PyTorch's symmetric memory, and the all-reduces that inference engines bring along.
bool is_communication_kernel(std::string_view kernel);

// Operators whose own kernels communicate: those of process groups and of symmetric memory.
bool is_communication_operator(std::string_view op);

// From one device to another, as copy engines do it for collectives.
bool is_copy_between_devices(std::string_view copy);

}  // namespace foreshard::traces
