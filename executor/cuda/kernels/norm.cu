// RMSNorm and its gradients.
#include "executor/cuda/kernels/column_sums.cuh"
#include "executor/cuda/kernels/launch.cuh"
#include "executor/cuda/kernels/reduce.cuh"

namespace foreshard::executor::cuda {
namespace {

// A block for each row, which stays in the nearest cache between its two passes.
template <class T>
__global__ void rms_norm(std::int64_t width, float eps, const T* x, const T* w, T* y, float* rstd) {
  const std::int64_t row = blockIdx.x, begin = threadIdx.x * kEach, stride = blockDim.x * kEach;
  x += row * width;
  y += row * width;
  float squares = 0;
  for (std::int64_t i = begin; i < width; i += stride) {
    const Floats v = load(x + i, width - i);
#pragma unroll
    for (int j = 0; j < kEach; ++j) squares += v.at[j] * v.at[j];
  }
  const float factor = 1.0F / sqrtf(block_sum(squares) / static_cast<float>(width) + eps);
  if (threadIdx.x == 0) rstd[row] = factor;
  const auto norm = [factor](float v, float weight) { return rounded<T>(v * factor) * weight; };
  for (std::int64_t i = begin; i < width; i += stride) {
    store(y + i, each(norm, load(x + i, width - i), load(w + i, width - i)), width - i);
  }
}

// With h = x * rstd and g = dy * w: dx = rstd * (g - h * mean(g * h)), dw = sum over rows of dy *
// h, where h is rounded as the forward rounded it.
//
// A block for each range of rows, of as many groups of threads as it has room for: each takes a row
// of its own, and keeps its share of the weight's gradient in registers, for kPacks * kEach columns
// a thread. Rows that are wider are gone through once for each such span of columns. A multiprocessor
// has one block, so that a thread asks for all that registers have room for before it computes.
constexpr int kPacks = 4, kRangeThreads = 512;
template <class T>
constexpr int kAtOnce = 8 / sizeof(T);  // packs, of which three operands are loaded

template <class T>
__global__ void __launch_bounds__(kRangeThreads)
    rms_norm_backward(std::int64_t rows, std::int64_t width, int group_threads, bool accumulate,
                      const T* dy, const T* x, const T* w, const float* rstd, T* dx,
                      float* partials) {
  __shared__ Floats shown[kRangeThreads];
  const auto threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int groups = threads / group_threads, group = thread / group_threads,
            member = thread % group_threads;
  const std::int64_t begin = rows * blockIdx.x / gridDim.x,
                     end = rows * (blockIdx.x + 1) / gridDim.x;
  const std::int64_t stride = group_threads * kEach;
  for (std::int64_t span = member * kEach; span - member * kEach < width; span += kPacks * stride) {
    Floats sums[kPacks] = {};
    for (std::int64_t first = begin; first < end; first += groups) {
      const std::int64_t row = first + group, at = row * width;
      const std::int64_t present = row < end ? width : 0;
      const float factor = row < end ? rstd[row] : 0;
      Elements<T> g[kAtOnce<T>], v[kAtOnce<T>], k[kAtOnce<T>];
      const auto load_packs = [&](std::int64_t from, int packs) {
#pragma unroll
        for (int n = 0; n < packs; ++n) {
          const std::int64_t i = from + n * stride, count = present - i;
          g[n] = load_elements(dy + at + i, count);
          v[n] = load_elements(x + at + i, count);
          k[n] = load_elements(w + i, count);
        }
      };
      float products = 0;
      for (std::int64_t from = member * kEach; from < present; from += kAtOnce<T> * stride) {
        load_packs(from, kAtOnce<T>);
#pragma unroll
        for (int n = 0; n < kAtOnce<T>; ++n) {
          if (from + n * stride >= present) continue;
          const Floats d = widened(g[n]), e = widened(v[n]), weight = widened(k[n]);
#pragma unroll
          for (int j = 0; j < kEach; ++j) products += d.at[j] * weight.at[j] * (e.at[j] * factor);
        }
      }
      const float mean = group_sum(products, group_threads / kWarp) / static_cast<float>(width);
      constexpr int kWithBefore = kAtOnce<T> / 2;
#pragma unroll
      for (int pack = 0; pack < kPacks; pack += kWithBefore) {
        const std::int64_t from = span + pack * stride;
        Elements<T> before[kWithBefore];
        load_packs(from, kWithBefore);
#pragma unroll
        for (int n = 0; n < kWithBefore; ++n) {
          const std::int64_t i = from + n * stride;
          before[n] = load_elements(dx + at + i, accumulate ? present - i : 0);
        }
#pragma unroll
        for (int n = 0; n < kWithBefore; ++n) {
          const std::int64_t i = from + n * stride;
          if (i >= present) continue;
          const Floats d = widened(g[n]), e = widened(v[n]), weight = widened(k[n]);
          const auto add = [factor](float sum, float d, float e) {
            return sum + d * rounded<T>(e * factor);
          };
          const auto gradient = [factor, mean](float d, float weight, float e) {
            return (d * weight - e * factor * mean) * factor;
          };
          sums[pack + n] = each(add, sums[pack + n], d, e);
          Floats result = each(gradient, d, weight, e);
          if (accumulate) {
            result = each([](float a, float b) { return a + b; }, result, widened(before[n]));
          }
          store(dx + at + i, result, width - i);
        }
      }
    }
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
      const std::int64_t i = span + pack * stride;
      __syncthreads();  // the last sums have been read
      shown[thread] = sums[pack];
      __syncthreads();
      if (group != 0 || i >= width) continue;
      Floats total = shown[thread];
      for (int other = 1; other < groups; ++other) {
        total = each([](float a, float b) { return a + b; }, total,
                     shown[other * group_threads + thread]);
      }
      store(partials + blockIdx.x * width + i, total, width - i);
    }
  }
}

}  // namespace

void run_rms_norm(const CudaLaunch& a) {
  const std::int64_t rows = a.key.dims[0], width = a.key.dims[1];
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(rows, 1), threads_of_row(width, kThreads), rms_norm<T>, width,
          a.scalars.rms_norm_eps, input<T>(a, 0), input<T>(a, 1), output<T>(a, 0),
          output<float>(a, 1));
  });
}

// The weight's gradient is summed over fixed ranges of rows, as many as the scratch has room for,
// then over the ranges.
void run_rms_norm_backward(const CudaLaunch& a) {
  const std::int64_t rows = a.key.dims[0], width = a.key.dims[1];
  const bool accumulate = a.key.dims[2] != 0;
  const auto parts = static_cast<std::int64_t>(a.writes[2].size() / sizeof(float)) / width;
  const int group = threads_of_row(ceil_divide(width, kPacks), kRangeThreads);
  const std::int64_t groups =
      std::clamp<std::int64_t>(ceil_divide(rows, parts), 1, kRangeThreads / group);
  float* const partials = output<float>(a, 2);
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(parts, 1), static_cast<unsigned>(groups * group), rms_norm_backward<T>, rows,
          width, group, accumulate, input<T>(a, 0), input<T>(a, 1), input<T>(a, 2),
          input<float>(a, 3), output<T>(a, 0), partials);
    sum_columns(a, parts, width, partials, output<T>(a, 1));
  });
}

}  // namespace foreshard::executor::cuda
