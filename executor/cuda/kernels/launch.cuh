// How kernels are started: grids, typed operands, and the two types that elements have.
#pragma once

#include <algorithm>
#include <cstdint>

#include "executor/cuda/kernels/check.hpp"
#include "executor/cuda/kernels/elements.cuh"
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

// With a value of each of the types of an operator that converts `dtype2` to `dtype`.
template <class Callable>
void with_types(const CudaLaunch& a, Callable callable) {
  with_type(a.key.dtype2,
            [&](auto from) { with_type(a.key.dtype, [&](auto to) { callable(from, to); }); });
}

constexpr int kThreads = 256;  // of a block that streams through memory

// Threads of a block that goes through rows of `width` elements, kEach of them at a time.
inline int threads_of_row(std::int64_t width, int most) {
  const std::int64_t threads = round_up(ceil_divide(width, kEach), 32);
  return static_cast<int>(std::clamp<std::int64_t>(threads, 32, most));
}

}  // namespace foreshard::executor::cuda
