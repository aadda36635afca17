// Operators without structure: each element by itself, a pack of elements a thread.
#include "executor/cuda/kernels/launch.cuh"

namespace foreshard::executor::cuda {
namespace {

__device__ float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}

// to[i] = element(i-th of each operand), over n elements.
template <class T, class Element, class... From>
__device__ void each_element(std::int64_t n, T* to, Element element, const From*... from) {
  const std::int64_t begin = first_element();
  const std::int64_t end = begin + kEach < n ? begin + kEach : n;
  for (std::int64_t i = begin; i < end; ++i) to[i] = element(to_float(from[i])...);
}

template <class T>
__global__ void swiglu(std::int64_t n, const T* gate, const T* up, T* out) {
  each_element(
      n, out, [](float g, float u) { return from_float<T>(g * sigmoid(g) * u); }, gate, up);
}

template <class T>
__global__ void swiglu_backward(std::int64_t n, const T* dout, T* gate, T* up) {
  const std::int64_t begin = first_element();
  const std::int64_t end = begin + kEach < n ? begin + kEach : n;
  for (std::int64_t i = begin; i < end; ++i) {
    const float d = to_float(dout[i]), g = to_float(gate[i]), u = to_float(up[i]);
    const float s = sigmoid(g);
    gate[i] = from_float<T>(d * u * s * (1.0F + g * (1.0F - s)));
    up[i] = from_float<T>(d * g * s);
  }
}

template <class From, class To>
__global__ void add(std::int64_t n, const From* x, To* y) {
  each_element(
      n, y, [](float a, float b) { return from_float<To>(b + a); }, x, y);
}

template <class From, class To>
__global__ void cast(std::int64_t n, const From* x, To* y) {
  each_element(
      n, y, [](float a) { return from_float<To>(a); }, x);
}

}  // namespace

void run_swiglu(const CudaLaunch& a) {
  const std::int64_t n = a.key.dims[0] * a.key.dims[1];
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(n, kThreads, kEach), kThreads, swiglu<T>, n, input<T>(a, 0), input<T>(a, 1),
          output<T>(a, 0));
  });
}

void run_swiglu_backward(const CudaLaunch& a) {
  const std::int64_t n = a.key.dims[0] * a.key.dims[1];
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(n, kThreads, kEach), kThreads, swiglu_backward<T>, n, input<T>(a, 0),
          output<T>(a, 0), output<T>(a, 1));
  });
}

void run_add(const CudaLaunch& a) {
  const std::int64_t n = a.key.dims[0];
  with_type(a.key.dtype2, [&](auto from) {
    with_type(a.key.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      start(a, cover(n, kThreads, kEach), kThreads, add<From, To>, n, input<From>(a, 0),
            output<To>(a, 0));
    });
  });
}

void run_cast(const CudaLaunch& a) {
  const std::int64_t n = a.key.dims[0];
  with_type(a.key.dtype2, [&](auto from) {
    with_type(a.key.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      start(a, cover(n, kThreads, kEach), kThreads, cast<From, To>, n, input<From>(a, 0),
            output<To>(a, 0));
    });
  });
}

void run_fill_zero(const CudaLaunch& a) {
  if (a.writes[0].empty()) return;
  check(cudaMemsetAsync(a.writes[0].data(), 0, a.writes[0].size(), a.tools.stream),
        "cudaMemsetAsync");
}

}  // namespace foreshard::executor::cuda
