// The memory of the runtime's devices, shared by its parts.
#pragma once

#include <cstdint>

namespace foreshard::host_cuda {

std::int64_t capacity();  // of each device, in bytes
int current_device();     // of this thread
// False where the device has not so much left.
bool take(int device, std::int64_t bytes);
void give_back(int device, std::int64_t bytes);

}  // namespace foreshard::host_cuda
