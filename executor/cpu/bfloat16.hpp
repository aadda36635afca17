// The 16-bit brain float: the upper half of an fp32. Conversion to it rounds to nearest, ties to
// even, and keeps NaN a NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace foreshard::executor {

struct BFloat16 {
  std::uint16_t bits = 0;
};

inline float to_float(BFloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline float to_float(float x) {
  return x;
}

inline BFloat16 to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {0x7fc0};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace foreshard::executor
