// What the null cuDNN knows of a handle, and how it counts what a handle executes.
#pragma once

#include <cstdint>

#include <cudnn.h>

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace foreshard::rehearsal {

cudnnStatus_t execute(cudnnHandle_t handle, const char* what, std::int64_t workspace_bytes);

}  // namespace foreshard::rehearsal
