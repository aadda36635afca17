// Summary statistics.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace foreshard {

// Half the width that holds 90 % of a normal distribution, in standard deviations.
constexpr double kNinetyPercent = 1.65;

// The middle of the values in their order, the mean of the two middle ones (rounded towards the
// smaller) where their number is even; zero where there are none.
template <typename Number>
Number median(std::vector<Number> values) {
  if (values.empty()) return Number{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

}  // namespace foreshard
