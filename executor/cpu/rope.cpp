// Rotary position embedding: the table of angles and the rotation of queries or keys.
#include <cmath>
#include <numbers>

#include "executor/cpu/operands.hpp"

namespace foreshard::executor {
namespace {

// Frequency of pair i, in fp32 as Hugging Face computes it. llama3 scaling leaves short wavelengths
// alone, divides long ones by `factor`, and blends between.
float frequency(std::int64_t pair, std::int64_t head_dim, const KernelScalars& scalars) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(head_dim);
  const float plain =
      1.0F / static_cast<float>(std::pow(scalars.rope_theta, static_cast<double>(exponent)));
  const RopeScaling& s = scalars.rope_scaling;
  const float factor = static_cast<float>(s.factor);
  if (s.kind == RopeScaling::Kind::none) return plain;
  if (s.kind == RopeScaling::Kind::linear) return plain / factor;
  const float wavelength = static_cast<float>(2 * std::numbers::pi) / plain;
  const float longest = static_cast<float>(s.original_context / s.low_frequency_factor);
  const float shortest = static_cast<float>(s.original_context / s.high_frequency_factor);
  if (wavelength < shortest) return plain;
  if (wavelength > longest) return plain / factor;
  const float low = static_cast<float>(s.low_frequency_factor);
  const float high = static_cast<float>(s.high_frequency_factor);
  const float smooth = (static_cast<float>(s.original_context) / wavelength - low) / (high - low);
  return (1 - smooth) * plain / factor + smooth * plain;
}

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
    const float per_token = frequency(i, head_dim, a.scalars);
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
