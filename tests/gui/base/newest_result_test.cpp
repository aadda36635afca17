#include "gui/models/base/newest_result.hpp"

#include <QTest>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

// A thread's work that goes on until it is let go.
struct Gate {
  std::atomic<bool> is_open = false;
  void wait() const {
    while (!is_open) std::this_thread::yield();
  }
};

class NewestResultTest : public testing::Test {
 protected:
  // Fifty requests while the first of them is under way.
  std::vector<int> results_of_fifty(Overtaken overtaken) {
    std::vector<int> used;
    NewestResult<int> newest(
        &owner, [&](int result) { used.push_back(result); }, [&] { ++changes; }, overtaken);
    const auto gate = std::make_shared<Gate>();
    for (int n = 1; n <= 50; ++n) {
      newest.request([gate, n] {
        gate->wait();
        return n;
      });
    }
    EXPECT_TRUE(newest.is_busy());
    gate->is_open = true;
    EXPECT_TRUE(QTest::qWaitFor([&] { return !newest.is_busy(); }));
    return used;
  }

  QObject owner;
  int changes = 0;
};

TEST_F(NewestResultTest, OfThoseThatWaitTheNewestFollows) {
  EXPECT_EQ(results_of_fifty(Overtaken::dropped), std::vector<int>{50});
  EXPECT_EQ(changes, 3);  // two that began, and the end
}

TEST_F(NewestResultTest, WhatIsOvertakenCanBeUsed) {
  EXPECT_EQ(results_of_fifty(Overtaken::used), (std::vector<int>{1, 50}));
}

TEST_F(NewestResultTest, WorkThatThrowsHasAnErrorOrNoResult) {
  std::vector<int> used;
  NewestResult<int> number(
      &owner, [&](int result) { used.push_back(result); }, [&] { ++changes; });
  number.request([]() -> int { throw std::bad_alloc(); });
  EXPECT_TRUE(QTest::qWaitFor([&] { return !number.is_busy(); }));
  number.request([] { return 3; });
  EXPECT_TRUE(QTest::qWaitFor([&] { return !number.is_busy(); }));
  EXPECT_EQ(used, std::vector<int>{3});

  std::string error;
  NewestResult<Result<int>> result(
      &owner, [&](Result<int> one) { error = one ? "" : one.error().text(); }, [] {});
  result.request([]() -> Result<int> { throw std::bad_alloc(); });
  EXPECT_TRUE(QTest::qWaitFor([&] { return !result.is_busy(); }));
  EXPECT_EQ(error, "there is not enough memory for it");
}

TEST_F(NewestResultTest, WhatIsForgottenIsNotUsedAndCanSeeIt) {
  bool is_used = false;
  const auto has_seen = std::make_shared<Gate>();
  NewestResult<int> newest(
      &owner, [&](int) { is_used = true; }, [&] { ++changes; });
  newest.request([has_seen](const std::atomic<bool>& is_unwanted) {
    while (!is_unwanted) std::this_thread::yield();
    has_seen->is_open = true;
    return 1;
  });
  newest.forget();
  EXPECT_FALSE(newest.is_busy());
  EXPECT_EQ(changes, 2);
  has_seen->wait();
  QTest::qWait(20);
  EXPECT_FALSE(is_used);
}

TEST_F(NewestResultTest, WhatIsAskedForAfterwardsIsUsed) {
  std::vector<int> used;
  NewestResult<int> newest(
      &owner, [&](int result) { used.push_back(result); }, [] {});
  newest.request([] { return 1; });
  newest.forget();
  newest.request([] { return 2; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !newest.is_busy(); }));
  EXPECT_EQ(used, std::vector<int>{2});
}

TEST_F(NewestResultTest, GoesAtOnceWhileItWorks) {
  bool is_used = false;
  const auto gate = std::make_shared<Gate>();
  const auto is_done = std::make_shared<Gate>();
  {
    QObject short_lived;
    NewestResult<int> newest(
        &short_lived, [&](int) { is_used = true; }, [] {});
    newest.request([gate, is_done] {
      gate->wait();
      is_done->is_open = true;
      return 1;
    });
  }
  gate->is_open = true;
  is_done->wait();
  QTest::qWait(20);
  EXPECT_FALSE(is_used);
}

}  // namespace
}  // namespace foreshard::gui
