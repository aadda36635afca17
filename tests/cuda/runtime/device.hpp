// What the parts of the runtime share of devices and their memory.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace foreshard::host_cuda {

std::int64_t capacity();  // of each device, in bytes
int current_device();     // of this thread
// False where the device has not so much left.
bool take(int device, std::int64_t bytes);
void give_back(int device, std::int64_t bytes);

// What a call returns: an error becomes the thread's last.
cudaError_t result(cudaError_t error);

}  // namespace foreshard::host_cuda
