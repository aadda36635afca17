// Sums of what a recording claims: far from overflow, however often they are taken.
#pragma once

#include <algorithm>
#include <cstdint>

#include "traces/input/limits.hpp"

namespace foreshard::traces {

constexpr std::int64_t bounded_sum(std::int64_t a, std::int64_t b) {
  const auto bounded = [](std::int64_t n) { return std::clamp(n, -kMaxSum, kMaxSum); };
  return bounded(bounded(a) + bounded(b));
}

}  // namespace foreshard::traces
