// CUDA C++ for a host compiler: kernels written in plain CUDA C++ with static shared memory become
// functions whose threads run as fibers, one block after the other (block.hpp). It stands before the
// toolkit's header of the same name in the include path; types and calls are the toolkit's own.
//
// A launch is a host function in stream order, so the runtime below only has to have streams.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <typeinfo>

#include <cuda_runtime_api.h>

#include "tests/cuda/emulation/block.hpp"
#include "tests/cuda/runtime/activities.hpp"
#include "tests/cuda/runtime/device.hpp"

#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__

inline void __syncthreads() {
  foreshard::emulation::wait_for_block();
}
inline void __syncwarp(unsigned = ~0U) {
  foreshard::emulation::wait_for_warp();
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return foreshard::emulation::exchange(value, [lane](int) { return lane; });
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return foreshard::emulation::exchange(value, [mask](int lane) { return lane ^ mask; });
}
template <class T>
T __shfl_down_sync(unsigned, T value, int delta) {
  return foreshard::emulation::exchange(
      value, [delta](int lane) { return lane + delta < 32 ? lane + delta : lane; });
}

inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}
inline float __expf(float x) {
  return std::exp(x);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
using std::max;
using std::min;

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const int device = foreshard::host_cuda::device_of(config->stream);
  if (device != foreshard::host_cuda::current_device()) return cudaErrorInvalidResourceHandle;
  const auto is_within_reach = [device](const auto& argument) {
    return foreshard::host_cuda::can_touch_all(device, &argument, sizeof argument);
  };
  if (!(is_within_reach(static_cast<Parameters>(arguments)) && ...)) return cudaErrorIllegalAddress;
  // Mangled as "kernel" with the types of its parameters.
  constexpr std::size_t kReturnsVoid = 3;  // "PFv" before the parameters, "E" behind them
  std::string types = typeid(kernel).name();
  types = types.substr(kReturnsVoid, types.size() - kReturnsVoid - 1);
  return foreshard::host_cuda::issue(
      "cudaLaunchKernelExC", config->stream,
      {foreshard::host_cuda::Work::Kind::kernel, "_Z6kernel" + types},
      [grid = config->gridDim, block = config->blockDim, kernel,
       ... values = static_cast<Parameters>(arguments)] {
        foreshard::emulation::run_grid(grid, block, [&] { kernel(values...); });
      });
}
