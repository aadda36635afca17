// Rotary position embedding: the table of angles and the rotation of queries or keys.
#include <cmath>

#include "executor/cpu/operands.hpp"
#include "executor/device/rope_frequency.hpp"

namespace foreshard::executor {
namespace {

void rotate(const KernelArguments& a, float sign) {
  const std::int64_t B = a.key.dims[0], S = a.key.dims[1], H = a.key.dims[2], d = a.key.dims[3];
  const auto kernel = simd_kernels().rope[variant(a.key.dtype)];
  a.workers.run_ranges(B * S, rows_per_grain(H * d),
                       [&](std::int64_t begin, std::int64_t end, int) {
                         kernel(output(a, 0), input<float>(a, 0), begin, end, S, H, d, sign);
                       });
}

}  // namespace

void run_rope_table(const KernelArguments& a) {
  const std::int64_t sequence = a.key.dims[0], head_dim = a.key.dims[1], half = head_dim / 2;
  float* const cosines = output<float>(a, 0);
  float* const sines = cosines + sequence * half;
  for (std::int64_t i = 0; i < half; ++i) {
    const float per_token = rope_frequency(i, head_dim, a.scalars);
    for (std::int64_t t = 0; t < sequence; ++t) {
      const double angle = static_cast<double>(static_cast<float>(t) * per_token);
      cosines[t * half + i] = static_cast<float>(std::cos(angle));
      sines[t * half + i] = static_cast<float>(std::sin(angle));
    }
  }
}

void run_rope(const KernelArguments& a) {
  rotate(a, 1.0F);
}

void run_rope_backward(const KernelArguments& a) {
  rotate(a, -1.0F);
}

}  // namespace foreshard::executor
