// Mean cross entropy of a micro-batch and its gradient in the logits.
#include <cfloat>

#include "executor/cuda/kernels/launch.cuh"
#include "executor/cuda/kernels/reduce.cuh"

namespace foreshard::executor::cuda {
namespace {

constexpr int kRowThreads = 512;

// e^x. For bf16 by the hardware's instruction, whose relative error grows with |x| to 1e-5 where the result
// no longer counts: the precise function would take longer than reading the logits does.
template <class T>
__device__ float exponential(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return expf(x);
  } else {
    return __expf(x);
  }
}

// lse = largest + log(sum of exp(x - largest)), a block for each row, which is read once: every thread keeps
// the largest it has seen, and its sum relative to that. A NaN is never the largest, but makes the
// sum NaN. The largest is finite at first, so that a row of -inf alone has the sum 0.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    log_sum_exp(std::int64_t width, const T* logits, float* lse) {
  const T* const x = logits + blockIdx.x * width;
  float largest = -FLT_MAX, sum = 0;
  for (std::int64_t i = threadIdx.x * kEach; i < width; i += blockDim.x * kEach) {
    Floats v = load(x + i, width - i);
    if (width - i < kEach) {
      for (int j = 0; j < kEach; ++j) v.at[j] = j < width - i ? v.at[j] : -INFINITY;
    }
    float next = largest;
#pragma unroll
    for (int j = 0; j < kEach; ++j) next = fmaxf(next, v.at[j]);
    sum *= exponential<T>(largest - next);
#pragma unroll
    for (int j = 0; j < kEach; ++j) sum += exponential<T>(v.at[j] - next);
    largest = next;
  }
  const float of_all = block_max(largest);
  const double total = block_sum(static_cast<double>(sum * expf(largest - of_all)));
  if (threadIdx.x == 0) {
    lse[blockIdx.x] = static_cast<float>(static_cast<double>(of_all) + log(total));
  }
}

// loss += mean of (lse - logit of the target) / micro_steps, in double, by one block.
template <class T>
__global__ void __launch_bounds__(kMostThreads)
    add_losses(std::int64_t tokens, std::int64_t width, std::int64_t micro_steps, const T* logits,
               const std::int32_t* targets, const float* lse, double* loss) {
  double sum = 0;
#pragma unroll 4
  for (std::int64_t t = threadIdx.x; t < tokens; t += blockDim.x) {
    sum +=
        static_cast<double>(lse[t]) - static_cast<double>(to_float(logits[t * width + targets[t]]));
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    *loss += sum / static_cast<double>(tokens) / static_cast<double>(micro_steps);
  }
}

// logits become (softmax - 1 at the target) * scale, a block for each row.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    cross_entropy_backward(std::int64_t width, float scale, const std::int32_t* targets,
                           const float* lse, T* logits) {
  T* const x = logits + blockIdx.x * width;
  const float row = lse[blockIdx.x];
  const std::int64_t target = targets[blockIdx.x];
  for (std::int64_t i = threadIdx.x * kEach; i < width; i += blockDim.x * kEach) {
    Floats v = load(x + i, width - i);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const float one = i + j == target ? 1.0F : 0.0F;
      v.at[j] = (exponential<T>(v.at[j] - row) - one) * scale;
    }
    store(x + i, v, width - i);
  }
}

}  // namespace

void run_cross_entropy(const CudaLaunch& a) {
  const std::int64_t tokens = a.key.dims[0], width = a.key.dims[1], micro_steps = a.key.dims[2];
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(tokens, 1), threads_of_row(width, kRowThreads), log_sum_exp<T>, width,
          input<T>(a, 0), output<float>(a, 0));
    start(a, 1, threads_of_row(tokens * kEach, kMostThreads), add_losses<T>, tokens, width,
          micro_steps, input<T>(a, 0), input<std::int32_t>(a, 1), output<float>(a, 0),
          output<double>(a, 1));
  });
}

void run_cross_entropy_backward(const CudaLaunch& a) {
  const std::int64_t tokens = a.key.dims[0], width = a.key.dims[1], micro_steps = a.key.dims[2];
  const float scale = static_cast<float>(1.0 / static_cast<double>(tokens * micro_steps));
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(tokens, 1), threads_of_row(width, kRowThreads), cross_entropy_backward<T>, width,
          scale, input<std::int32_t>(a, 0), input<float>(a, 1), output<T>(a, 0));
  });
}

}  // namespace foreshard::executor::cuda
