// Tests of NaN and infinity: values that need not be finite, and their comparison.
#pragma once

#include <algorithm>
#include <limits>

#include "tests/executor/cpu/kernel_fixture.hpp"

namespace foreshard::executor {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kAny = 12345;  // where two of PyTorch's own implementations disagree

inline void expect_values(const Tensor& got, const Values& expected, double allowed,
                          const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double x = got.at(i), y = expected[i];
    if (y == kAny) continue;
    const bool agrees = std::isnan(y)   ? std::isnan(x)
                        : std::isinf(y) ? x == y
                                        : std::abs(x - y) <= allowed * std::max(1.0, std::abs(y));
    EXPECT_TRUE(agrees) << what << "[" << i << "] is " << x << ", expected " << y;
  }
}

}  // namespace foreshard::executor
