// The device that PyTorch's operators run on: what sizes of workspaces and scratch follow from.
#pragma once

#include "models/base/device_traits.hpp"
#include "models/hardware/hardware.hpp"
#include "models/plan/pytorch_plan.hpp"

namespace foreshard {

// Where nobody names a machine.
const Machine& default_pytorch_machine();  // an H100 SXM

// With the workspace that each handle of cuBLAS takes from PyTorch's allocator there: of the plan's
// CUBLAS_WORKSPACE_CONFIG, or else the version's default.
DeviceTraits pytorch_device(const Machine& machine, const PyTorchPlan& plan);

// Whether PyTorch's allocator has expandable segments there: not on AMD's parts before 2.11, where it
// warns and goes on without (PYTORCH_C10_DRIVER_API_SUPPORTED, c10/cuda/CUDACachingAllocator.cpp).
bool has_expandable_segments(const Machine& machine, const PyTorchPlan& plan);

}  // namespace foreshard
