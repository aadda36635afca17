// Operators without structure: each element by itself.
#include "executor/cuda/kernels/launch.cuh"

namespace foreshard::executor::cuda {
namespace {

__device__ float sigmoid(float x) {
  return __fdividef(1.0F, 1.0F + expf(-x));
}

template <class T>
__global__ void swiglu(std::int64_t n, const T* gate, const T* up, T* out) {
  const std::int64_t i = first_element();
  store(out + i,
        each([](float g, float u) { return g * sigmoid(g) * u; }, load(gate + i, n - i),
             load(up + i, n - i)),
        n - i);
}

// With s = sigmoid(gate): d(gate) = dout * up * s * (1 + gate * (1 - s)), d(up) = dout * gate * s.
template <class T>
__global__ void swiglu_backward(std::int64_t n, const T* dout, T* gate, T* up) {
  const std::int64_t i = first_element();
  const Floats d = load(dout + i, n - i), g = load(gate + i, n - i), u = load(up + i, n - i);
  const Floats s = each([](float x) { return sigmoid(x); }, g);
  const auto of_gate = [](float dy, float x, float y, float share) {
    return dy * y * share * (1.0F + x * (1.0F - share));
  };
  const auto of_up = [](float dy, float x, float share) { return dy * x * share; };
  store(gate + i, each(of_gate, d, g, u, s), n - i);
  store(up + i, each(of_up, d, g, s), n - i);
}

template <class From, class To>
__global__ void add(std::int64_t n, const From* x, To* y) {
  const std::int64_t i = first_element();
  store(y + i, each([](float a, float b) { return b + a; }, load(x + i, n - i), load(y + i, n - i)),
        n - i);
}

template <class From, class To>
__global__ void cast(std::int64_t n, const From* x, To* y) {
  const std::int64_t i = first_element();
  store(y + i, load(x + i, n - i), n - i);
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
  with_types(a, [&](auto from, auto to) {
    using From = decltype(from);
    using To = decltype(to);
    start(a, cover(n, kThreads, kEach), kThreads, add<From, To>, n, input<From>(a, 0),
          output<To>(a, 0));
  });
}

void run_cast(const CudaLaunch& a) {
  const std::int64_t n = a.key.dims[0];
  with_types(a, [&](auto from, auto to) {
    using From = decltype(from);
    using To = decltype(to);
    start(a, cover(n, kThreads, kEach), kThreads, cast<From, To>, n, input<From>(a, 0),
          output<To>(a, 0));
  });
}

void run_fill_zero(const CudaLaunch& a) {
  if (a.writes[0].empty()) return;
  check(cudaMemsetAsync(a.writes[0].data(), 0, a.writes[0].size(), a.tools.stream),
        "cudaMemsetAsync");
}

}  // namespace foreshard::executor::cuda
