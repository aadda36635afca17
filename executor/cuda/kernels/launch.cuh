// How kernels are started and read their operands: typed pointers, grids, and the two types that
// elements have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "executor/cuda/kernels/check.hpp"
#include "executor/cuda/kernels/kernels.hpp"

namespace foreshard::executor::cuda {

// Starts a kernel; arguments are converted to its parameters.
template <class... Parameters, class... Arguments>
void start(cudaStream_t stream, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
           Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "a kernel");
}
template <class... Parameters, class... Arguments>
void start(const CudaLaunch& a, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
           Arguments... arguments) {
  start(a.tools.stream, blocks, threads, kernel, arguments...);
}

// Blocks of `threads` that cover n elements, each thread `each` of them.
inline dim3 cover(std::int64_t n, int threads, int each = 1) {
  return dim3(static_cast<unsigned>(ceil_divide(std::max<std::int64_t>(n, 1), threads * each)));
}

template <class T>
const T* input(const CudaLaunch& a, std::size_t i) {
  return reinterpret_cast<const T*>(a.reads[i].data());
}
template <class T>
T* output(const CudaLaunch& a, std::size_t i) {
  return reinterpret_cast<T*>(a.writes[i].data());
}

// Calls with a value of the element type: with_type(DType::bf16, [](auto x) { using T = decltype(x); }).
template <class Callable>
void with_type(DType type, Callable callable) {
  if (type == DType::bf16) {
    callable(__nv_bfloat16{});
  } else {
    callable(float{});
  }
}

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
template <class T>
__device__ T from_float(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    return __float2bfloat16(x);
  }
}

// Several elements that are read and written together, 16 bytes where a thread has that many.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount <= 16 ? sizeof(T) * kCount : 16) Pack {
  T at[kCount];
};

// Elements a thread of a streaming kernel works on: 16 bytes of the smallest type.
constexpr int kEach = 8;
constexpr int kThreads = 256;

// The first element that this thread works on, and how many: kEach, fewer at the end.
__device__ inline std::int64_t first_element() {
  return (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kEach;
}

// Whether packs can be read and written there: whole ones, at addresses of their alignment.
template <class... T>
bool is_packed(std::int64_t n, const T*... operands) {
  return n % kEach == 0 && ((reinterpret_cast<std::uintptr_t>(operands) % 16 == 0) && ...);
}

}  // namespace foreshard::executor::cuda
