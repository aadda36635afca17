// Rotary position embedding: the table of angles and the rotation of queries or keys.
#include "executor/cuda/kernels/launch.cuh"
#include "executor/device/rope_frequency.hpp"

namespace foreshard::executor::cuda {
namespace {

// Of some pairs of a head, by value in a kernel's arguments.
constexpr int kFrequencies = 256;
struct Frequencies {
  float at[kFrequencies];
};

// The angles of pairs [first, first + count), of `half` that a head has, for every token; the product is
// rounded to fp32 before its cosine is taken in double.
__global__ void rope_table(std::int64_t sequence, std::int64_t half, std::int64_t first, int count,
                           const __grid_constant__ Frequencies frequencies, float* table) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t t = i / count;
  if (t >= sequence) return;
  const auto pair = static_cast<int>(i % count);
  const double angle = static_cast<double>(static_cast<float>(t) * frequencies.at[pair]);
  float* const cosine = table + t * half + first + pair;
  cosine[0] = static_cast<float>(cos(angle));
  cosine[sequence * half] = static_cast<float>(sin(angle));
}

// The half rotation of Hugging Face: element i of a head pairs with element i + half. Table, products
// and sum round to T, as PyTorch computes them. A block for each token.
template <class T>
__global__ void rope(int sequence, int heads, int half, float sign, const float* table, T* x) {
  const float* const cosines = table + static_cast<std::int64_t>(blockIdx.x) % sequence * half;
  const float* const sines = cosines + static_cast<std::int64_t>(sequence) * half;
  x += static_cast<std::int64_t>(blockIdx.x) * heads * half * 2;
  const int packs = (half + kEach - 1) / kEach;
  for (int i = static_cast<int>(threadIdx.x); i < heads * packs;
       i += static_cast<int>(blockDim.x)) {
    const int pair = i % packs * kEach, count = half - pair;
    T* const first = x + i / packs * 2 * half + pair;
    T* const second = first + half;
    const Floats a = load(first, count), b = load(second, count), c = load(cosines + pair, count),
                 s = load(sines + pair, count);
    const auto turned = [sign](float p, float q, float cosine, float sine) {
      return rounded<T>(p * rounded<T>(cosine)) - rounded<T>(q * (rounded<T>(sine) * sign));
    };
    const auto turned_other = [sign](float p, float q, float cosine, float sine) {
      return rounded<T>(q * rounded<T>(cosine)) + rounded<T>(p * (rounded<T>(sine) * sign));
    };
    store(first, each(turned, a, b, c, s), count);
    store(second, each(turned_other, a, b, c, s), count);
  }
}

void rotate(const CudaLaunch& a, float sign) {
  const std::int64_t B = a.key.dims[0], S = a.key.dims[1], H = a.key.dims[2], d = a.key.dims[3];
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(B * S, 1), threads_of_row(H * d / 2, kThreads), rope<T>, S, H, d / 2, sign,
          input<float>(a, 0), output<T>(a, 0));
  });
}

}  // namespace

void run_rope_table(const CudaLaunch& a) {
  const std::int64_t sequence = a.key.dims[0], head_dim = a.key.dims[1], half = head_dim / 2;
  for (std::int64_t first = 0; first < half; first += kFrequencies) {
    const std::int64_t count = std::min<std::int64_t>(half - first, kFrequencies);
    Frequencies frequencies{};
    for (std::int64_t i = 0; i < count; ++i) {
      frequencies.at[i] = rope_frequency(first + i, head_dim, a.scalars);
    }
    start(a, cover(sequence * count, kThreads), kThreads, rope_table, sequence, half, first, count,
          frequencies, output<float>(a, 0));
  }
}

void run_rope(const CudaLaunch& a) {
  rotate(a, 1.0F);
}

void run_rope_backward(const CudaLaunch& a) {
  rotate(a, -1.0F);
}

}  // namespace foreshard::executor::cuda
