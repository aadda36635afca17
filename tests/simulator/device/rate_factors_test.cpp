// What observations teach, against weighted least squares over all of them at once.
#include "simulator/device/rate_factors.hpp"

#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foreshard::simulator {
namespace {

using Matrix = Eigen::Matrix<double, kRates, kRates>;
using Vector = Eigen::Matrix<double, kRates, 1>;

RC_GTEST_PROP(RateFactors, AreTheMostLikelyOnes, ()) {
  const auto number = [] { return *rc::gen::inRange(-100, 101) / 100.0; };
  RateFactors factors = prior_factors(kernel_rates(*load_machine("h100-sxm")));
  Matrix precision = Matrix::Zero();
  for (std::size_t i = 0; i < kRates; ++i) {
    const auto n = static_cast<Eigen::Index>(i);
    precision(n, n) = 1 / factors.covariance[i][i];
  }
  Vector weighted = Vector::Zero();
  for (int n = *rc::gen::inRange(0, 8); n > 0; --n) {
    RateVector gradient{};
    for (double& g : gradient) g = number();
    const double y = number(), sigma = 0.05;
    factors.observe(gradient, y, sigma);
    const Vector g = Eigen::Map<const Vector>(gradient.data());
    precision += g * g.transpose() / (sigma * sigma);
    weighted += g * y / (sigma * sigma);
  }
  const Matrix covariance = precision.inverse();
  const Vector mean = covariance * weighted;
  RateVector along{};
  for (double& a : along) a = number();
  const Vector direction = Eigen::Map<const Vector>(along.data());
  RC_ASSERT(std::abs(factors.error(along) - std::sqrt(direction.dot(covariance * direction))) <
            1e-6);
  for (std::size_t i = 0; i < kRates; ++i) {
    RC_ASSERT(std::abs(factors.logarithm[i] - mean(static_cast<Eigen::Index>(i))) < 1e-6);
  }
}

TEST(RateFactors, WhatNoRunShowsStaysAsUnsureAsItWas) {
  RateFactors factors = prior_factors(kernel_rates(*load_machine("h100-sxm")));
  const double links = factors.error({0, 0, 0, 1, 0});
  factors.observe({1, 0, 0, 0, 0}, 0.1, 0.01);
  EXPECT_DOUBLE_EQ(factors.error({0, 0, 0, 1, 0}), links);
  EXPECT_LT(factors.error({1, 0, 0, 0, 0}), 0.011);
  EXPECT_NEAR(factors.factor(Rate::product), std::exp(0.1), 0.01);
  EXPECT_EQ(factors.factor(Rate::links), 1);
}

}  // namespace
}  // namespace foreshard::simulator
