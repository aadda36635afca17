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

// The angles of pairs [first, first + count), of `half` that a head has, for every token; the
// product is rounded to fp32 before its cosine is taken in double.
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

constexpr int kHeadsAtOnce = 2;  // that a thread turns by the same angles

// The half rotation of Hugging Face: element i of a head pairs with element i + half. Table,
// products and sum round to T, as PyTorch computes them. threadIdx.x along the pairs of a token,
// threadIdx.y over tokens.
template <class T>
__global__ void __launch_bounds__(kThreads)
    rope(int tokens, int sequence, int heads, int half, float sign, const float* table, T* x) {
  const int token = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);
  if (token >= tokens) return;
  const float* const cosines = table + static_cast<std::int64_t>(token % sequence) * half;
  const float* const sines = cosines + static_cast<std::int64_t>(sequence) * half;
  x += static_cast<std::int64_t>(token) * heads * half * 2;
  const int packs = (half + kEach - 1) / kEach, groups = (heads + kHeadsAtOnce - 1) / kHeadsAtOnce;
  for (int i = static_cast<int>(threadIdx.x); i < groups * packs;
       i += static_cast<int>(blockDim.x)) {
    const int pair = i % packs * kEach, count = half - pair;
    T* place[kHeadsAtOnce];
    Elements<T> first[kHeadsAtOnce], second[kHeadsAtOnce];
#pragma unroll
    for (int n = 0; n < kHeadsAtOnce; ++n) {
      const int head = i / packs + n * groups, present = head < heads ? count : 0;
      place[n] = x + head * 2 * half + pair;
      first[n] = load_elements(place[n], present);
      second[n] = load_elements(place[n] + half, present);
    }
    const Floats cosine = each(rounded<T>, load(cosines + pair, count));
    const Floats sine =
        each([sign](float s) { return rounded<T>(s) * sign; }, load(sines + pair, count));
    const auto turned = [](float p, float q, float c, float s) {
      return rounded<T>(p * c) - rounded<T>(q * s);
    };
    const auto turned_other = [](float p, float q, float c, float s) {
      return rounded<T>(q * c) + rounded<T>(p * s);
    };
#pragma unroll
    for (int n = 0; n < kHeadsAtOnce; ++n) {
      const int present = i / packs + n * groups < heads ? count : 0;
      const Floats p = widened(first[n]), q = widened(second[n]);
      store(place[n], each(turned, p, q, cosine, sine), present);
      store(place[n] + half, each(turned_other, p, q, cosine, sine), present);
    }
  }
}

void rotate(const CudaLaunch& a, float sign) {
  const std::int64_t B = a.key.dims[0], S = a.key.dims[1], H = a.key.dims[2], d = a.key.dims[3];
  const std::int64_t of_token = ceil_divide(H, kHeadsAtOnce) * ceil_divide(d / 2, kEach);
  const int along = static_cast<int>(std::clamp<std::int64_t>(of_token, 1, kThreads)),
            tokens = kThreads / along;
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(B * S, tokens),
          dim3(static_cast<unsigned>(along), static_cast<unsigned>(tokens)), rope<T>, B * S, S, H,
          d / 2, sign, input<float>(a, 0), output<T>(a, 0));
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
