// Conversions between fp32 and the shorter floating-point formats of weights and operands. The inner
// loops convert whole vectors by the same rule, see cpu/simd/vector.inl.
#pragma once

#include <bit>
#include <cstdint>

namespace foreshard::executor {

// Always inlined: files compiled for wider instruction sets include this too, and no copy of theirs
// may serve the others. So call them, do not pass their addresses.

constexpr std::uint16_t kBf16Nan = 0x7fc0;  // what every NaN becomes in bf16

[[gnu::always_inline]] inline float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The fp32 nearest to `value` among those that bf16 holds, ties to even, as c10::BFloat16 rounds.
[[gnu::always_inline]] inline float rounded_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U;
  constexpr std::uint32_t kNan = std::uint32_t{kBf16Nan} << 16;
  return std::bit_cast<float>((bits & 0x7fffffffU) > 0x7f800000U ? kNan : rounded);
}
[[gnu::always_inline]] inline std::uint16_t float_to_bf16(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded_to_bf16(value)) >> 16);
}

inline float f16_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  // Moving the bits to fp32's place leaves the exponent 112 too small; multiplying by 2^112 mends
  // it, and normalises subnormal halves on the way.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

}  // namespace foreshard::executor
