// Kernel tests run once for each instruction set this processor has, and for the inner loops with
// 16 lanes compiled without AVX-512: plain, with pairs of bf16 and with tiles in software, so that
// their logic is tested everywhere.
#pragma once

#include <gtest/gtest.h>

#include "executor/cpu/simd/table.hpp"
#include "tests/executor/cpu/kernel_runner.hpp"
#include "tests/executor/cpu/kernels_in_use.hpp"

namespace foreshard::executor {

const SimdKernels& sixteen_lane_kernels();
const SimdKernels& sixteen_lane_pair_kernels();
const SimdKernels& software_tile_kernels();

inline std::vector<const SimdKernels*> tested_simd_kernels() {
  const auto available = available_simd_kernels();
  std::vector<const SimdKernels*> all(available.begin(), available.end());
  all.push_back(&sixteen_lane_kernels());
  all.push_back(&sixteen_lane_pair_kernels());
  all.push_back(&software_tile_kernels());
  return all;
}

class KernelTest : public testing::TestWithParam<const SimdKernels*> {
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
  const KernelsInUse in_use_{*GetParam()};

  static bool is_scratch(const Launch& launch, const Tensor& last) {
    const auto bytes = static_cast<std::int64_t>(last.bytes.size());
    return bytes == DeviceTraits{}.matmul_workspace.count ||
           bytes == scratch_bytes(launch.key, {}).count;
  }
};

#define FORESHARD_KERNEL_SUITE(Suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(InstructionSets, Suite, testing::ValuesIn(tested_simd_kernels()), \
                           [](const auto& which) { return std::string(which.param->name); })

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
  return Tensor::unwritten(DType::fp32, DeviceTraits{}.matmul_workspace.count / 4);
}

inline Tensor unwritten_scratch(const CostKey& key) {
  return Tensor::unwritten(DType::fp32, scratch_bytes(key, {}).count / 4);
}

}  // namespace foreshard::executor
