// Kernel tests run once for each variant of the device under test.
#pragma once

#include <gtest/gtest.h>

#include "tests/executor/cpu/kernel_runner.hpp"

namespace foreshard::executor {

class KernelTest : public testing::TestWithParam<KernelVariant> {
 protected:
  // Runs with one and with three threads, which must leave the same bits.
  static std::vector<Tensor> run_all(const Launch& launch) {
    std::vector<Tensor> one = run(launch, 1);
    const std::vector<Tensor> three = run(launch, 3);
    // Workspace and scratch may differ: they are the last write of these operators.
    const bool has_scratch = one.back().type == DType::fp32 && is_scratch(launch, one.back());
    for (std::size_t i = 0; i + (has_scratch ? 1 : 0) < one.size(); ++i) {
      EXPECT_TRUE(one[i].bytes == three[i].bytes) << "write " << i << " depends on the threads";
    }
    return one;
  }

 private:
  const std::shared_ptr<const void> in_use_ = GetParam().use();

  static bool is_scratch(const Launch& launch, const Tensor& last) {
    const auto bytes = static_cast<std::int64_t>(last.bytes.size());
    return bytes == tested_device().matmul_workspace.count ||
           bytes == scratch_bytes(launch.key, tested_device()).count;
  }
};

#define FORESHARD_KERNEL_SUITE(Suite)                                             \
  INSTANTIATE_TEST_SUITE_P(Variants, Suite, testing::ValuesIn(kernel_variants()), \
                           [](const auto& which) { return which.param.name; })

constexpr DType kTypes[] = {DType::fp32, DType::bf16};

constexpr double kFp32 = 1e-6;         // of its own value, where nothing else is stated
constexpr double kBf16 = 1.0 / 256.0;  // one rounding at most

constexpr double tolerance(DType type) {
  return type == DType::bf16 ? kBf16 : kFp32;
}

// What fp32 loses of a sum, relative to the absolute values of its terms.
constexpr double kOfTerms = 0x1p-22;

// How far elements are off, in units of what rounding explains: `of_result` of the element itself and
// `of_terms` of the terms that add up to it, whose absolute values' sums are `terms`. Right is below
// 1. An error in proportion to the largest value would let the small ones be anything.
inline double element_error(const Values& got, const Values& expected, const Values& terms,
                            double of_result, double of_terms = kOfTerms) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double allowed = of_result * std::abs(expected[i]) + of_terms * terms[i] + 1e-30;
    const double error = std::abs(got[i] - expected[i]) / allowed;
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  }
  return worst;
}

inline Tensor unwritten_workspace() {
  return Tensor::unwritten(DType::fp32, tested_device().matmul_workspace.count / 4);
}

inline Tensor unwritten_scratch(const CostKey& key) {
  return Tensor::unwritten(DType::fp32, scratch_bytes(key, tested_device()).count / 4);
}

}  // namespace foreshard::executor
