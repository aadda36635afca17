// Factors on a machine's rates before any run taught them, and what their errors are made of.
#include "simulator/device/rate_factors.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace foreshard::simulator {
namespace {

TEST(RateFactors, EachTechnologyHasItsOwn) {
  EXPECT_EQ(rate_of(Operator::all_gather), Rate::link);
  EXPECT_EQ(rate_of(Operator::copy_host_to_device), Rate::copy);
  EXPECT_EQ(rate_of(Operator::matmul_weight_gradient), Rate::product);
  EXPECT_EQ(rate_of(Operator::attention_backward), Rate::attention);
  EXPECT_EQ(rate_of(Operator::rms_norm), Rate::memory);
}

TEST(RateFactors, AreIndependentAndOneBeforeAnythingIsObserved) {
  const RateFactors factors = prior_factors(kernel_rates(*load_machine("h100-sxm")));
  double squares = 0;
  RateVector all{};
  for (std::size_t r = 0; r < kRates; ++r) {
    const auto rate = static_cast<Rate>(r);
    EXPECT_EQ(factors.factor(rate), 1);
    EXPECT_GT(factors.deviation(rate), 0) << kRateNames[r];
    squares += factors.deviation(rate) * factors.deviation(rate);
    all[r] = 1;
  }
  EXPECT_NEAR(factors.error(all), std::sqrt(squares), 1e-12);
}

}  // namespace
}  // namespace foreshard::simulator
