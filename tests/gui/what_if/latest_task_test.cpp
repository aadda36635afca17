#include "gui/models/what_if/latest_task.hpp"

#include <QTest>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

TEST(LatestTask, OfThoseThatWaitTheNewestFollows) {
  std::vector<int> used;
  LatestTask<int> task([&](int result) { used.push_back(result); });
  for (int n = 1; n <= 50; ++n) {
    task.ask([n](const auto&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return n;
    });
  }
  EXPECT_TRUE(task.is_busy());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !task.is_busy(); }));
  EXPECT_EQ(used, (std::vector<int>{1, 50}));
}

TEST(LatestTask, WhatIsCancelledIsNotUsedAndCanSeeIt) {
  bool is_used = false;
  std::atomic<bool> has_seen = false;
  LatestTask<int> task([&](int) { is_used = true; });
  task.ask([&](const std::atomic<bool>& is_unwanted) {
    while (!is_unwanted) std::this_thread::yield();
    has_seen = true;
    return 1;
  });
  task.cancel();
  EXPECT_FALSE(task.is_busy());
  ASSERT_TRUE(QTest::qWaitFor([&] { return has_seen.load(); }));
  QTest::qWait(20);
  EXPECT_FALSE(is_used);
}

TEST(LatestTask, GoesWhileItWorks) {
  bool is_used = false;
  {
    LatestTask<int> task([&](int) { is_used = true; });
    task.ask([](const std::atomic<bool>& is_unwanted) {
      while (!is_unwanted) std::this_thread::yield();
      return 1;
    });
  }
  QTest::qWait(20);
  EXPECT_FALSE(is_used);
}

}  // namespace
}  // namespace foreshard::gui
