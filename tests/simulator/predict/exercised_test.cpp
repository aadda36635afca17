// How much steps have in common.
#include "simulator/predict/exercised.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace foreshard::simulator {
namespace {

ObservedStep seen(int nodes, std::vector<KernelShare> kernels) {
  ObservedStep step;
  step.exercise = {nodes, std::move(kernels)};
  return step;
}

TEST(Exercised, AStepHasAllInCommonWithItself) {
  const Exercise step{2, {{"product bf16", 0.7}, {"network all_gather", 0.3}}};
  EXPECT_DOUBLE_EQ(exercised_share(step, {seen(2, step.kernels)}), 1);
}

TEST(Exercised, IsWhatEitherSpendsOnTheSameKernels) {
  const Exercise step{1, {{"product bf16", 0.5}, {"attention bf16", 0.3}, {"host", 0.2}}};
  const ObservedStep one = seen(1, {{"product bf16", 0.2}, {"product fp8", 0.5}, {"host", 0.3}});
  EXPECT_DOUBLE_EQ(exercised_share(step, {one}), 0.4);
  const ObservedStep other = seen(1, {{"product bf16", 0.1}, {"attention bf16", 0.9}});
  EXPECT_DOUBLE_EQ(exercised_share(step, {one, other}), 0.7);  // kernel by kernel the best of them
}

TEST(Exercised, FallsWithEachDoublingOfNodes) {
  const Exercise step{8, {{"product bf16", 1}}};
  EXPECT_NEAR(exercised_share(step, {seen(1, step.kernels)}), 0.9 * 0.9 * 0.9, 1e-12);
  EXPECT_NEAR(exercised_share(step, {seen(16, step.kernels)}), 0.9, 1e-12);
}

TEST(Exercised, WhatWasExplainedComesBackWhereNothingIsCommon) {
  DeviceRates rates;
  const auto product = static_cast<std::size_t>(Rate::product);
  rates.factors.explained[product][product] = 0.04;
  rates.observed = {seen(1, {{"product bf16", 1}})};
  const auto uncertainty_of = [&](const Exercise& step) {
    StepUncertainty uncertainty;
    uncertainty.rates[product] = 0.5;
    uncertainty.left_out.quantile = 1;
    add_unexercised(step, rates, uncertainty);
    return uncertainty;
  };
  const double most = held_out_spread(CostWay::catalogue).quantile;
  EXPECT_NEAR(uncertainty_of({1, {{"product fp8", 1}}}).unexercised, 0.1, 1e-12);
  EXPECT_NEAR(uncertainty_of({1, {{"product fp8", 1}}}).left_out.quantile, most, 1e-12);
  EXPECT_EQ(uncertainty_of({1, {{"product bf16", 1}}}).unexercised, 0);
  EXPECT_EQ(uncertainty_of({1, {{"product bf16", 1}}}).left_out.quantile, 1);
  const StepUncertainty some = uncertainty_of({1, {{"product bf16", 0.6}, {"host", 0.4}}});
  EXPECT_NEAR(some.unexercised, std::sqrt(0.01 * (1 - 0.36)), 1e-12);
  EXPECT_NEAR(some.left_out.quantile, 1 + 0.64 * (most - 1), 1e-12);
  // Files of earlier versions do not say.
  rates.observed = {seen(0, {})};
  EXPECT_EQ(uncertainty_of({1, {{"product fp8", 1}}}).unexercised, 0);
}

}  // namespace
}  // namespace foreshard::simulator
