// The optimizer's step over one unit's shards, and the gradient norm it clips by.
#include "executor/cuda/kernels/batches.cuh"
#include "executor/cuda/kernels/reduce.cuh"

namespace foreshard::executor::cuda {
namespace {

// Blocks that the sum of squares is made by: as many as n is worth, so that it depends on n alone.
constexpr std::int64_t kMostParts = 2048;
static_assert(kMostParts <= static_cast<std::int64_t>(StreamTools::kPartials));

template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_of_squares(std::int64_t n, const T* x, double* partials) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kEach;
  double sum = 0;
  for (std::int64_t i = first_element(); i < n; i += stride) {
    const Floats v = load(x + i, n - i);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const auto d = static_cast<double>(v.at[j]);
      sum += d * d;
    }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    sum_partials(int count, const double* partials, double* total) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) sum += partials[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total = sum;
}

// In the order of units, by one thread.
__global__ void clip_coefficient(std::int64_t units, double limit, const double* squares,
                                 double* clip) {
  constexpr double kGuard = 1e-6;  // as torch.nn.utils.clip_grad_norm_ has it
  double total = 0;
#pragma unroll 4
  for (std::int64_t i = 0; i < units; ++i) total += squares[i];
  const double norm = sqrt(total);
  // A NaN norm makes the factor NaN, and every gradient with it, as torch.clamp does.
  const double factor = limit > 0 ? limit / (norm + kGuard) : 1.0;
  clip[0] = norm;
  clip[1] = factor > 1.0 ? 1.0 : factor;
}

// One parameter's shard on this rank; optimizers without states leave them out.
template <class Gradient, class Parameter, class State>
struct Shard {
  const Gradient* gradient;
  Parameter* parameter;
  State *mean, *square;
  std::int64_t elements;
};

template <class Gradient, class Parameter, class State>
__global__ void __launch_bounds__(kThreads)
    adamw(const __grid_constant__ Batch<Shard<Gradient, Parameter, State>> batch,
          const OptimizerScalars* scalars, const double* clip) {
  AdamwScalars k = scalars->adamw;
  k.clip = static_cast<float>(clip[1]);
  for_each_pack(batch, [&k](const Shard<Gradient, Parameter, State>& shard, std::int64_t i) {
    const std::int64_t count = shard.elements - i;
    Floats p = load(shard.parameter + i, count), mean = load(shard.mean + i, count),
           square = load(shard.square + i, count);
    const Floats g = load(shard.gradient + i, count);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const float d = g.at[j] * k.clip;
      mean.at[j] = mean.at[j] * k.beta1 + d * k.beta1_rest;
      square.at[j] = square.at[j] * k.beta2 + d * d * k.beta2_rest;
      const float denominator = sqrtf(square.at[j]) / k.root + k.eps;
      p.at[j] = p.at[j] * k.keep - k.step * (mean.at[j] / denominator);
    }
    store(shard.mean + i, mean, count);
    store(shard.square + i, square, count);
    store(shard.parameter + i, p, count);
  });
}

template <class Gradient, class Parameter>
__global__ void __launch_bounds__(kThreads)
    sgd(const __grid_constant__ Batch<Shard<Gradient, Parameter, float>> batch,
        const OptimizerScalars* scalars, const double* clip) {
  SgdScalars k = scalars->sgd;
  k.clip = static_cast<float>(clip[1]);
  for_each_pack(batch, [&k](const Shard<Gradient, Parameter, float>& shard, std::int64_t i) {
    const std::int64_t count = shard.elements - i;
    const auto step = [&k](float p, float g) {
      return p - k.lr * (g * k.clip + k.weight_decay * p);
    };
    store(shard.parameter + i,
          each(step, load(shard.parameter + i, count), load(shard.gradient + i, count)), count);
  });
}

__global__ void store_scalars(OptimizerScalars scalars, OptimizerScalars* to) {
  *to = scalars;
}

}  // namespace

void set_scalars(const StreamTools& tools, const KernelScalars& scalars) {
  start(tools.stream, 1, 1, store_scalars, optimizer_scalars(scalars), tools.scalars);
}

void run_gradient_norm(const CudaLaunch& a) {
  const std::int64_t n = a.key.dims[0];
  const std::int64_t parts =
      std::clamp<std::int64_t>(ceil_divide(n, 2 * kThreads * kEach), 1, kMostParts);
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(parts, 1), kThreads, sum_of_squares<T>, n, input<T>(a, 0), a.tools.partials);
  });
  start(a, 1, kThreads, sum_partials, parts, a.tools.partials, output<double>(a, 0) + a.aux);
}

void run_clip_coefficient(const CudaLaunch& a) {
  start(a, 1, 1, clip_coefficient, a.key.dims[0], a.scalars.clip_grad_norm, input<double>(a, 0),
        output<double>(a, 0));
}

void run_adamw(const CudaLaunch& a) {
  const std::size_t count = a.unit->parameters.size();
  with_types(a, [&](auto gradient, auto parameter) {
    with_type(a.key.dtype3, [&](auto state) {
      using Gradient = decltype(gradient);
      using Parameter = decltype(parameter);
      using State = decltype(state);
      using Array = Shard<Gradient, Parameter, State>;
      auto shards = batches<Array>([&a](const Batch<Array>& batch, unsigned blocks) {
        start(a, blocks, kThreads, adamw<Gradient, Parameter, State>, batch, a.tools.scalars,
              input<double>(a, 1));
      });
      for (std::size_t i = 0; i < count; ++i) {
        const ParameterShard& p = a.unit->parameters[i];
        shards.add({input<Gradient>(a, 0) + p.offset, output<Parameter>(a, i),
                    output<State>(a, count + i), output<State>(a, 2 * count + i), p.local});
      }
      shards.finish();
    });
  });
}

void run_sgd(const CudaLaunch& a) {
  with_types(a, [&](auto gradient, auto parameter) {
    using Gradient = decltype(gradient);
    using Parameter = decltype(parameter);
    using Array = Shard<Gradient, Parameter, float>;
    auto shards = batches<Array>([&a](const Batch<Array>& batch, unsigned blocks) {
      start(a, blocks, kThreads, sgd<Gradient, Parameter>, batch, a.tools.scalars,
            input<double>(a, 1));
    });
    for (std::size_t i = 0; i < a.unit->parameters.size(); ++i) {
      const ParameterShard& p = a.unit->parameters[i];
      shards.add(
          {input<Gradient>(a, 0) + p.offset, output<Parameter>(a, i), nullptr, nullptr, p.local});
    }
    shards.finish();
  });
}

}  // namespace foreshard::executor::cuda
