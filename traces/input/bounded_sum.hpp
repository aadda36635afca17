// Sums and differences of what a recording claims: far from overflow, however often they are taken.
#pragma once

#include <algorithm>
#include <cstdint>

#include "traces/input/limits.hpp"

namespace foreshard::traces {

constexpr std::int64_t bounded(std::int64_t n) {
  return std::clamp(n, -kMaxSum, kMaxSum);
}
constexpr std::int64_t bounded_sum(std::int64_t a, std::int64_t b) {
  return bounded(bounded(a) + bounded(b));
}
constexpr std::int64_t bounded_difference(std::int64_t a, std::int64_t b) {
  return bounded(bounded(a) - bounded(b));
}

}  // namespace foreshard::traces
