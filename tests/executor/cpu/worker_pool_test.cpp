#include "executor/cpu/worker_pool.hpp"

#include <atomic>
#include <ctime>
#include <stdexcept>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

TEST(WorkerPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 5}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int count : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      pool.run(count, [&](std::int64_t i, int thread) {
        EXPECT_TRUE(0 <= thread && thread < threads);
        ++done[static_cast<std::size_t>(i)];
      });
      for (const auto& n : done) EXPECT_EQ(n, 1);
    }
  }
}

TEST(WorkerPool, RangesCoverEverythingInFixedPieces) {
  WorkerPool pool(3);
  std::atomic<std::int64_t> total = 0;
  pool.run_ranges(103, 10, [&](std::int64_t begin, std::int64_t end, int) {
    EXPECT_EQ(begin % 10, 0);
    EXPECT_LE(end, 103);
    total += end - begin;
  });
  EXPECT_EQ(total, 103);
}

TEST(WorkerPool, ThrowsWhatATaskThrew) {
  WorkerPool pool(3);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(pool.run(100,
                          [](std::int64_t i, int) {
                            if (i == 40) throw std::runtime_error("a task failed");
                          }),
                 std::runtime_error);
    std::atomic<int> done = 0;
    pool.run(10, [&](std::int64_t, int) { ++done; });
    EXPECT_EQ(done, 10);
  }
}

// Idle workers sleep: they use no processor time to speak of.
TEST(WorkerPool, IdleWorkersDoNotSpin) {
  WorkerPool pool(4);
  pool.run(8, [](std::int64_t, int) {});
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.05);
}

}  // namespace
}  // namespace foreshard::executor
