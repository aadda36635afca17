// What CUDA refuses is an exception that names the call.
#pragma once

#include <stdexcept>
#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace foreshard::executor::cuda {

// "cudaMemcpyAsync: an illegal memory access was encountered (700)". Of what a kernel before has done it
// says how to learn which (executor/device/launch_check.hpp).
[[noreturn]] void throw_refusal(cudaError_t error, const char* call);

inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw_refusal(error, call);
}

inline void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": driver error " +
                           std::to_string(static_cast<int>(result)));
}

}  // namespace foreshard::executor::cuda
