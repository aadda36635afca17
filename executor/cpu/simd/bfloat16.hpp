// bf16 as a type, so that kernels distinguish its elements from other 16-bit words.
#pragma once

#include <cstdint>

#include "models/base/float_formats.hpp"

namespace foreshard::executor {

struct BFloat16 {
  std::uint16_t bits = 0;
};

inline float to_float(BFloat16 x) {
  return bf16_to_float(x.bits);
}
inline float to_float(float x) {
  return x;
}

inline BFloat16 to_bfloat16(float x) {
  return {float_to_bf16(x)};
}

}  // namespace foreshard::executor
