// Which device each thread works with, and which have a context.
#pragma once

#include <cuda.h>
#include <driver_types.h>

namespace foreshard::rehearsal {

int current_device();
bool is_device(int device);
cudaError_t use_device(int device);  // which has a context from then on
bool has_context(int device);

// Remembers the error for cudaGetLastError, and returns it.
cudaError_t remembered(cudaError_t error);

// The runtime's errors that the null device returns have the driver's numbers.
inline CUresult as_driver(cudaError_t error) {
  return static_cast<CUresult>(error);
}

}  // namespace foreshard::rehearsal
