// Sums that damaged recordings cannot make overflow: what would is left out.
#pragma once

#include <cstdint>

namespace foreshard::profiler {

inline std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? a : sum;
}

}  // namespace foreshard::profiler
