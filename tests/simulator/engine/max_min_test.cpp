#include "simulator/engine/max_min.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foreshard::simulator {
namespace {

Consumer task(std::vector<Use> uses) {
  Consumer consumer;
  for (const Use& use : uses) consumer.use(use.resource, use.amount);
  return consumer;
}

std::vector<double> rates(std::vector<double> capacities, const std::vector<Consumer>& tasks) {
  std::vector<double> result(tasks.size());
  MaxMinSolver(std::move(capacities)).solve(tasks, result);
  return result;
}

TEST(MaxMin, TwoTasksShareOneCore) {
  // x + x = 1
  EXPECT_EQ(rates({1}, {task({{0, 1}}), task({{0, 1}})}), (std::vector{0.5, 0.5}));
}

TEST(MaxMin, ThreadsOfATaskCountOneByOne) {
  // 2 x + x = 2
  const auto r = rates({2}, {task({{0, 2}}), task({{0, 1}})});
  EXPECT_DOUBLE_EQ(r[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(r[1], 2.0 / 3);
}

TEST(MaxMin, WhatOneTaskCannotUseTheOthersGet) {
  // Memory of 1 holds the first task (which needs 4) at 1/4. Cores: 1/4 + 2 x = 2, x = 7/8.
  const auto r = rates({2, 1}, {task({{0, 1}, {1, 4}}), task({{0, 1}}), task({{0, 1}})});
  EXPECT_DOUBLE_EQ(r[0], 0.25);
  EXPECT_DOUBLE_EQ(r[1], 0.875);
  EXPECT_DOUBLE_EQ(r[2], 0.875);
}

TEST(MaxMin, NobodyRunsFasterThanAlone) {
  EXPECT_EQ(rates({8}, {task({{0, 1}}), task({{0, 2}}), task({})}), (std::vector{1.0, 1.0, 1.0}));
}

TEST(MaxMin, CapacityZeroIsUnlimited) {
  EXPECT_EQ(rates({0}, {task({{0, 100}}), task({{0, 100}})}), (std::vector{1.0, 1.0}));
}

RC_GTEST_PROP(MaxMin, FairAndFeasible, ()) {
  const auto capacities = *rc::gen::container<std::vector<double>>(
      3, rc::gen::map(rc::gen::inRange(1, 20), [](int i) { return i / 4.0; }));
  const auto count = *rc::gen::inRange<std::size_t>(1, 12);
  std::vector<Consumer> tasks;
  for (std::size_t i = 0; i < count; ++i) {
    Consumer consumer;
    for (int r = 0; r < 3; ++r) consumer.use(r, *rc::gen::inRange(0, 9) / 4.0);
    tasks.push_back(consumer);
  }
  const auto r = rates(capacities, tasks);
  std::vector<double> load(3);
  for (std::size_t i = 0; i < count; ++i) {
    RC_ASSERT(r[i] > 0 && r[i] <= 1.0);
    for (int u = 0; u < tasks[i].count; ++u) {
      const Use& use = tasks[i].uses[static_cast<std::size_t>(u)];
      load[static_cast<std::size_t>(use.resource)] += r[i] * use.amount;
    }
  }
  for (std::size_t k = 0; k < 3; ++k) RC_ASSERT(load[k] <= capacities[k] * (1 + 1e-9));
  // Max-min: who runs below 1 uses a full resource on which nobody has a higher rate.
  for (std::size_t i = 0; i < count; ++i) {
    if (r[i] >= 1 - 1e-9) continue;
    bool has_bottleneck = false;
    for (int u = 0; u < tasks[i].count; ++u) {
      const auto k = static_cast<std::size_t>(tasks[i].uses[static_cast<std::size_t>(u)].resource);
      if (load[k] < capacities[k] * (1 - 1e-9)) continue;
      bool is_highest = true;
      for (std::size_t j = 0; j < count; ++j) {
        for (int v = 0; v < tasks[j].count; ++v) {
          if (static_cast<std::size_t>(tasks[j].uses[static_cast<std::size_t>(v)].resource) == k) {
            is_highest &= r[j] <= r[i] + 1e-9;
          }
        }
      }
      has_bottleneck |= is_highest;
    }
    RC_ASSERT(has_bottleneck);
  }
}

}  // namespace
}  // namespace foreshard::simulator
