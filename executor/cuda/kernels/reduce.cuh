// Sums over the threads of a block, in an order that depends on their number alone.
#pragma once

#include <cuda_runtime.h>

namespace foreshard::executor::cuda {

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;  // of a block

// Combines what the threads of a group have, for all of them: groups of `warps` whole warps, one after
// the other in the block. Every thread of the block must call.
template <class T, class Combine>
__device__ T reduce_group(T x, int warps, Combine combine) {
  __shared__ T shown[kMostThreads / kWarp];
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) x = combine(x, __shfl_xor_sync(~0U, x, mask));
  const int warp = static_cast<int>(threadIdx.x) / kWarp, first = warp / warps * warps;
  __syncthreads();  // the last reduction has been read
  if (threadIdx.x % kWarp == 0) shown[warp] = x;
  __syncthreads();
  T all = shown[first];
  for (int i = 1; i < warps; ++i) all = combine(all, shown[first + i]);
  return all;
}

template <class T>
__device__ T group_sum(T x, int warps) {
  return reduce_group(x, warps, [](T a, T b) { return a + b; });
}
template <class T>
__device__ T block_sum(T x) {
  return group_sum(x, static_cast<int>(blockDim.x) / kWarp);
}
__device__ inline float block_max(float x) {
  return reduce_group(x, static_cast<int>(blockDim.x) / kWarp,
                      [](float a, float b) { return fmaxf(a, b); });
}

}  // namespace foreshard::executor::cuda
