// Elements in memory and in registers. A thread takes kEach neighbours at a time, in accesses of 16
// bytes where their address allows it; computing is in fp32.
//
// `count` is how many elements there are from the pointer on, which may be fewer than kEach, or
// none: those beyond are read as zero and not written.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace foreshard::executor::cuda {

constexpr int kEach = 8;

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
// As T holds it.
template <class T>
__device__ float rounded(float x) {
  return to_float(from_float<T>(x));
}

template <class T>
struct alignas(16) Elements {
  T at[kEach];
};
using Floats = Elements<float>;

// In whole registers until they are computed with: taking them apart would wait for them, and the next
// load of the thread with it.
template <class T>
__device__ Elements<T> load_elements(const T* from, std::int64_t count) {
  struct alignas(16) Registers {
    std::uint32_t at[sizeof(Elements<T>) / sizeof(std::uint32_t)];
  } loaded;
  Elements<T> x;
  if (count >= kEach && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
    loaded = *reinterpret_cast<const Registers*>(from);
  } else {
#pragma unroll
    for (int i = 0; i < kEach; ++i) x.at[i] = i < count ? from[i] : T{};
    memcpy(&loaded, &x, sizeof x);
  }
  memcpy(&x, &loaded, sizeof x);
  return x;
}

// As numbers of 16 bytes: of members that are smaller the compiler often stores each by itself.
template <class T>
__device__ void store_elements(T* to, const Elements<T>& x, std::int64_t count) {
  if (count >= kEach && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
    __extension__ using Number = unsigned __int128;
    struct Numbers {
      Number at[sizeof x / sizeof(Number)];
    } stored;
    memcpy(&stored, &x, sizeof x);
    *reinterpret_cast<Numbers*>(to) = stored;
    return;
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (i < count) to[i] = x.at[i];
  }
}

template <class T>
__device__ Floats widened(const Elements<T>& x) {
  Floats y;
#pragma unroll
  for (int i = 0; i < kEach; ++i) y.at[i] = to_float(x.at[i]);
  return y;
}

template <class T>
__device__ Floats load(const T* from, std::int64_t count) {
  return widened(load_elements(from, count));
}

template <class T>
__device__ void store(T* to, const Floats& x, std::int64_t count) {
  Elements<T> y;
#pragma unroll
  for (int i = 0; i < kEach; ++i) y.at[i] = from_float<T>(x.at[i]);
  store_elements(to, y, count);
}

// f of the elements at each place.
template <class F, class... More>
__device__ Floats each(F f, const More&... x) {
  Floats y;
#pragma unroll
  for (int i = 0; i < kEach; ++i) y.at[i] = f(x.at[i]...);
  return y;
}

// The first element that this thread works on, where each has kEach of its own.
__device__ inline std::int64_t first_element() {
  return (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kEach;
}

}  // namespace foreshard::executor::cuda
