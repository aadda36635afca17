// What observations teach, against generalised least squares over all of them at once, and what they
// leave alone.
#include "simulator/fit/fitted_factors.hpp"

#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "simulator/costs/held_out_errors.hpp"

namespace foreshard::simulator {
namespace {

constexpr auto kSize = static_cast<Eigen::Index>(kRates);
using Square = Eigen::Matrix<double, kSize, kSize>;
using Vector = Eigen::Matrix<double, kSize, 1>;

KernelRates hopper() {
  return kernel_rates(*load_machine("h100-sxm"));
}

// Where no run surprises, the common factor is as wide as it was: the textbook's posterior, of sums of
// own factors and the common one, from observations whose errors are correlated.
RC_GTEST_PROP(FittedFactors, AreThoseOfGeneralisedLeastSquares, ()) {
  std::vector<RateObservation> observations;
  const auto count = static_cast<Eigen::Index>(*rc::gen::inRange(1, 6));
  Eigen::MatrixXd g(count, kSize);
  Eigen::VectorXd y(count);
  for (Eigen::Index n = 0; n < count; ++n) {
    RateObservation one;
    double sum = 0;
    for (double& share : one.gradient) sum += share = *rc::gen::inRange(1, 101) / 100.0;
    for (double& share : one.gradient) share /= sum;
    one.log_ratio = *rc::gen::inRange(-100, 101) / 10'000.0;
    g.row(n) = Eigen::Map<const Vector>(one.gradient.data());
    y(n) = one.log_ratio;
    observations.push_back(one);
  }
  const double common = held_out_spread(CostWay::catalogue).deviation;
  const RateFactors prior = prior_factors(hopper());
  Square before = Square::Constant(common * common);
  for (Eigen::Index r = 0; r < kSize; ++r) {
    before(r, r) += std::pow(prior.deviation(static_cast<Rate>(r)), 2);
  }
  Eigen::MatrixXd noise = Eigen::MatrixXd::Constant(count, count, std::pow(kHandDeviation, 2));
  noise += std::pow(kOwnDeviation, 2) * Eigen::MatrixXd::Identity(count, count);
  const Square after = (before.inverse() + g.transpose() * noise.inverse() * g).inverse();
  const Vector mean = after * g.transpose() * noise.inverse() * y;

  const RateFactors fitted = fitted_factors(hopper(), observations);
  for (Eigen::Index i = 0; i < kSize; ++i) {
    const auto row = static_cast<std::size_t>(i);
    RC_ASSERT(std::abs(fitted.logarithm[row] - mean(i)) < 1e-8);
    for (Eigen::Index j = 0; j < kSize; ++j) {
      RC_ASSERT(std::abs(fitted.covariance[row][static_cast<std::size_t>(j)] - after(i, j)) < 1e-8);
    }
  }
}

RateObservation of_products(double log_ratio) {
  RateObservation one;
  one.gradient[static_cast<std::size_t>(Rate::product)] = 0.8;
  one.gradient[static_cast<std::size_t>(Rate::memory)] = 0.2;
  one.log_ratio = log_ratio;
  return one;
}

double said_of(const RateObservation& one, const RateFactors& factors) {
  double sum = 0;
  for (std::size_t r = 0; r < kRates; ++r) sum += one.gradient[r] * factors.logarithm[r];
  return sum;
}

// A cluster 20, 40 or 60 % slower than the catalogue is a slow one; that its runs were misread is less
// likely the further they are off.
TEST(FittedFactors, ARunFarFromThePredictionIsBelieved) {
  for (const double speed : {0.8, 0.6, 0.4}) {
    const RateObservation one = of_products(-std::log(speed));
    const double found = said_of(one, fitted_factors(hopper(), {one}));
    EXPECT_NEAR(std::exp(-found), speed, 0.02) << speed;
  }
}

TEST(FittedFactors, WhatAllLimitsHaveInCommonIsHalfOfWhatANewPartIsOffBy) {
  // One limit that no run used, on a part that was compared and on one that was not.
  for (const char* machine : {"h100-sxm", "l40s"}) {
    const KernelRates rates = kernel_rates(*load_machine(machine));
    const RateFactors fitted = fitted_factors(rates, {of_products(0.1), of_products(0.1)});
    const double moved = fitted.logarithm[static_cast<std::size_t>(Rate::network)];
    EXPECT_GT(moved, 0) << machine;
    EXPECT_LT(moved, 0.09) << machine;
    EXPECT_GE(fitted.deviation(Rate::network),
              std::hypot(prior_factors(rates).deviation(Rate::network),
                         rates.unverified.value / std::sqrt(2.0)))
        << machine;
    EXPECT_GE(fitted.explained[0][0] + fitted.covariance[0][0],
              fitted_factors(rates, {}).covariance[0][0] - 1e-9);
  }
}

TEST(FittedFactors, ManyRunsByOneHandLeaveItsError) {
  const std::vector<RateObservation> many(100, of_products(0));
  const RateFactors fitted = fitted_factors(hopper(), many);
  const double deviation = fitted.error(many.front().gradient);
  EXPECT_GT(deviation, 0.8 * kHandDeviation);
  EXPECT_LT(deviation, fitted_factors(hopper(), {many.front()}).error(many.front().gradient));
}

TEST(FittedFactors, FiguresOfOneQuestionAreOneObservation) {
  ObservedStep step;
  step.question = "a";
  step.log_ratio = 0.1;
  std::vector<ObservedStep> steps(3, step);
  steps[2].log_ratio = 0.4;
  steps.push_back(step);
  steps.back().question = "b";
  const std::vector<RateObservation> observations = observations_of(steps);
  ASSERT_EQ(observations.size(), 2U);
  EXPECT_NEAR(observations[0].log_ratio, 0.2, 1e-12);
  EXPECT_NEAR(observations[1].log_ratio, 0.1, 1e-12);
}

}  // namespace
}  // namespace foreshard::simulator
