// Events that order work, without timing.
#pragma once

#include <cuda_runtime_api.h>

#include "executor/cuda/kernels/check.hpp"

namespace foreshard::executor::cuda {

// On the current device. Throws std::runtime_error.
inline cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return event;
}

}  // namespace foreshard::executor::cuda
