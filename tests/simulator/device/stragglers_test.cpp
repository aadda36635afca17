// The slowest of several ranks, against ranks that were drawn.
#include "simulator/device/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "simulator/costs/cost_model.hpp"
#include "tests/simulator/predict/h100.hpp"

namespace foreshard::simulator {
namespace {

// Factors of the slowest of so many, drawn often, in their order.
std::vector<double> drawn_maxima(int ranks, double sigma) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, sigma);
  std::vector<double> maxima(20'000);
  for (double& slowest : maxima) {
    slowest = 0;
    for (int rank = 0; rank < ranks; ++rank) slowest = std::max(slowest, std::exp(normal(random)));
  }
  std::sort(maxima.begin(), maxima.end());
  return maxima;
}

TEST(Stragglers, TheSlowestIsThatOfRanksThatWereDrawn) {
  for (const double sigma : {0.015, 0.1}) {
    for (const int ranks : {2, 8, 64, 512}) {
      const std::vector<double> maxima = drawn_maxima(ranks, sigma);
      double sum = 0, logarithms = 0, squares = 0;
      for (const double factor : maxima) {
        sum += factor;
        logarithms += std::log(factor);
        squares += std::log(factor) * std::log(factor);
      }
      const auto n = static_cast<double>(maxima.size());
      const double deviation = std::sqrt(squares / n - logarithms / n * logarithms / n);
      const SlowestRank slowest = slowest_of(ranks, sigma, 0);
      EXPECT_NEAR(slowest.factor, sum / n, 0.03 * sigma) << ranks;
      EXPECT_NEAR(slowest.deviation, deviation, 0.03 * deviation) << ranks;
      for (const double share : {0.05, 0.5, 0.95}) {
        const auto at = static_cast<std::size_t>(share * n);
        EXPECT_NEAR(slowest_quantile(ranks, sigma, share), maxima[at], 0.04 * sigma) << ranks;
      }
    }
  }
}

// 1.4236 and 2.3437 standard deviations are what tables of order statistics have for 8 and 64.
TEST(Stragglers, SmallDeviationsAreThoseOfTables) {
  EXPECT_NEAR(slowest_of(8, 1e-5, 0).factor, 1 + 1.4236e-5, 1e-9);
  EXPECT_NEAR(slowest_of(64, 1e-5, 0).factor, 1 + 2.3437e-5, 1e-9);
}

TEST(Stragglers, OneRankWaitsForNobodyAndMoreRanksNeverLess) {
  EXPECT_EQ(slowest_of(1, 0.1, 0.5).factor, 1);
  EXPECT_EQ(slowest_of(1, 0.1, 0.5).deviation, 0);
  double before = 1;
  for (int ranks = 2; ranks <= 1 << 20; ranks *= 2) {
    const double factor = slowest_of(ranks, 0.02, 0.4).factor;
    EXPECT_GT(factor, before) << ranks;
    before = factor;
  }
}

TEST(Stragglers, LengthenWhatComputesAndNothingElse) {
  const auto ns = [](const CostKey& key, int ranks) {
    return machine_costs(h100(), ranks, 0)->estimate(key, {}).ns;
  };
  const CostKey product{
      Operator::matmul, DType::bf16, DType::bf16, DType::bf16, {8192, 4096, 4096}};
  const CostKey moved{
      Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {1 << 28, 1 << 28}};
  const KernelRate variation = kernel_rates(*load_machine("h100-sxm")).part_variation;
  for (const int ranks : {2, 8, 64}) {
    EXPECT_DOUBLE_EQ(ns(product, ranks),
                     ns(product, 1) * slowest_of(ranks, variation.value, 0).factor);
    EXPECT_EQ(ns(moved, ranks), ns(moved, 1));
  }
}

}  // namespace
}  // namespace foreshard::simulator
