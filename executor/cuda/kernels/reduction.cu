#include <stdexcept>
#include <string>

#include "executor/cuda/kernels/launch.cuh"
#include "executor/cuda/kernels/reduction.hpp"

namespace foreshard::executor::cuda {
namespace {

struct Summands {
  const void* at[kMostSummands];
  int count;
};

// In which type sums are computed, and how they are rounded to the one that they are kept in.
template <class T>
struct Arithmetic {
  using Sum = T;
  __device__ static Sum load(T x) { return x; }
  __device__ static T round(Sum x) { return x; }
};
template <>
struct Arithmetic<__nv_bfloat16> {
  using Sum = float;
  __device__ static float load(__nv_bfloat16 x) { return __bfloat162float(x); }
  __device__ static __nv_bfloat16 round(float x) {
    return x != x ? __ushort_as_bfloat16(0x7fc0) : __float2bfloat16(x);
  }
};

// Elements that are read and written together.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Batch {
  T at[kCount];
};

// n: in batches of kCount elements, one a thread.
template <class T, int kCount>
__global__ void reduce(std::int64_t n, Summands from, bool is_average, T* to) {
  using A = Arithmetic<T>;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  using Values = Batch<T, kCount>;
  Values sum = static_cast<const Values*>(from.at[0])[i];
  for (int k = 1; k < from.count; ++k) {
    const Values next = static_cast<const Values*>(from.at[k])[i];
    for (int j = 0; j < kCount; ++j) {
      sum.at[j] = A::round(A::load(sum.at[j]) + A::load(next.at[j]));
    }
  }
  for (int j = 0; is_average && j < kCount; ++j) {
    sum.at[j] = A::round(A::load(sum.at[j]) / static_cast<typename A::Sum>(from.count));
  }
  reinterpret_cast<Values*>(to)[i] = sum;
}

template <class T>
void run_reduce(cudaStream_t stream, const Summands& from, bool is_average, std::byte* output,
                std::int64_t count) {
  constexpr int kCount = 16 / sizeof(T);
  auto addresses = reinterpret_cast<std::uintptr_t>(output);
  for (int k = 0; k < from.count; ++k) addresses |= reinterpret_cast<std::uintptr_t>(from.at[k]);
  T* const to = reinterpret_cast<T*>(output);
  if (addresses % 16 == 0 && count % kCount == 0) {
    start(stream, cover(count / kCount, kThreads), kThreads, reduce<T, kCount>, count / kCount,
          from, is_average, to);
  } else {
    start(stream, cover(count, kThreads), kThreads, reduce<T, 1>, count, from, is_average, to);
  }
}

}  // namespace

void reduce_in_order(cudaStream_t stream, DType type, bool is_average,
                     std::span<const std::byte* const> inputs, std::byte* output,
                     std::int64_t count) {
  if (count == 0) return;
  if (inputs.size() == 1) {
    if (output == inputs[0]) return;
    return check(
        cudaMemcpyAsync(output, inputs[0], static_cast<std::size_t>(count * item_size(type)),
                        cudaMemcpyDefault, stream),
        "cudaMemcpyAsync");
  }
  if (inputs.size() > kMostSummands) {
    throw std::runtime_error("more than " + std::to_string(kMostSummands) +
                             " ranks of a process cannot reduce on GPUs");
  }
  Summands from{};
  std::copy(inputs.begin(), inputs.end(), from.at);
  from.count = static_cast<int>(inputs.size());
  switch (type) {
    case DType::fp32: return run_reduce<float>(stream, from, is_average, output, count);
    case DType::fp64: return run_reduce<double>(stream, from, is_average, output, count);
    case DType::bf16: return run_reduce<__nv_bfloat16>(stream, from, is_average, output, count);
    case DType::int32:
    case DType::fp16:
    case DType::fp8: break;
  }
  throw std::invalid_argument("values of type " + std::string(name(type)) + " cannot be reduced");
}

}  // namespace foreshard::executor::cuda
