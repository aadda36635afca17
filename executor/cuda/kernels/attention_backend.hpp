// cuDNN's attention as a backend of the kernels of attention.
#pragma once

#include <memory>

#include "executor/cuda/kernels/kernel_backend.hpp"
#include "models/base/device_traits.hpp"

namespace foreshard::executor::cuda {

// Of one rank's host thread, on the current device, which has these traits. nullptr where the traits leave
// cuDNN out, or it cannot be loaded.
std::unique_ptr<KernelBackend> make_attention_backend(const DeviceTraits& traits);

}  // namespace foreshard::executor::cuda
