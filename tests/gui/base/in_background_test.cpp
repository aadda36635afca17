#include "gui/models/base/in_background.hpp"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gui/models/base/in_parallel.hpp"

namespace foreshard::gui {
namespace {

using Names = std::map<int, std::string>;

Names names(int first) {
  Names names;
  for (int n = first; n < first + 20; ++n) names[n] = "a name that is long enough for the heap";
  return names;
}

// A thread sanitizer sees whether what one thread wrote has come to the other.
TEST(InBackground, WorkHasWhatItWasGivenAndTheFutureWhatItMade) {
  QThreadPool pool;
  pool.setMaxThreadCount(2);
  std::vector<QFuture<Names>> futures;
  for (int n = 0; n < 50; ++n) {
    futures.push_back(in_background(
        [given = names(n)] {
          Names made = given;
          made.erase(made.begin());
          return made;
        },
        pool));
  }
  for (int n = 0; n < 50; ++n) {
    Names expected = names(n);
    expected.erase(n);
    EXPECT_EQ(futures[static_cast<std::size_t>(n)].result(), expected);
  }
}

TEST(InBackground, WhatWasGivenIsLetGoBeforeTheResultIsThere) {
  const auto given = std::make_shared<int>(3);
  EXPECT_EQ(in_background([given] { return *given; }).result(), 3);
  EXPECT_EQ(given.use_count(), 1);
}

TEST(InBackground, AnExceptionComesWithTheFuture) {
  QFuture<int> future = in_background([]() -> int { throw std::runtime_error("no memory"); });
  EXPECT_THROW(future.waitForFinished(), std::runtime_error);
}

TEST(InParallel, EachIsDoneOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<Names> made(count);
    in_parallel(count, [&](std::size_t n) { made[n].merge(names(static_cast<int>(n))); });
    for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(made[n], names(static_cast<int>(n)));
  }
}

}  // namespace
}  // namespace foreshard::gui
