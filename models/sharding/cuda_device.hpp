// The GPU that Foreshard's own operators run on: what sizes of their workspaces and scratch follow from,
// on any machine.
#pragma once

#include <optional>

#include "models/base/device_traits.hpp"
#include "models/hardware/hardware.hpp"

namespace foreshard {

// "9.0" is 90; 0 of what is not written as NVIDIA writes it.
int compute_capability(const Machine& machine);

// That a multiprocessor holds at once (CUDA C++ Programming Guide, technical specifications per compute
// capability), with which PyTorch's kernels fill the device.
int threads_of_multiprocessor(const DeviceTraits& device);

// The workspace is what cuBLASLt may use for a matrix product, 32 MiB from Hopper on and 8 MiB before:
// kernels that would need more are not chosen.
DeviceTraits cuda_device(int compute_capability, int multiprocessors,
                         bool has_fused_attention = true);

// Of an NVIDIA GPU of Ampere or later; nothing of others, which have no kernels here.
std::optional<DeviceTraits> cuda_device(const Machine& machine);

}  // namespace foreshard
