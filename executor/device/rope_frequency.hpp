// The frequencies of rotary position embedding, by one formula for every device.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "executor/device/kernel_launch.hpp"

namespace foreshard::executor {

// Radians per token of pair `pair` of a head, in fp32 as Hugging Face computes it. llama3 scaling leaves
// short wavelengths alone, divides long ones by `factor`, and blends between.
inline float rope_frequency(std::int64_t pair, std::int64_t head_dim,
                            const KernelScalars& scalars) {
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

}  // namespace foreshard::executor
