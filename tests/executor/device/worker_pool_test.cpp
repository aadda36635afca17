#include "executor/device/worker_pool.hpp"

#include <array>
#include <atomic>
#include <barrier>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// A worker that comes late to one round must not take tasks of the next: each checks whose it was given.
TEST(WorkerPool, ShortRoundsFollowEachOther) {
  for (const int threads : {2, 4, 16}) {
    WorkerPool pool(threads);
    for (std::int64_t round = 0; round < 20'000; ++round) {
      const std::int64_t count = 1 + round % 5;
      std::atomic<std::int64_t> sum = 0;
      pool.run(count, [&, round](std::int64_t i, int) { sum += round + i; });
      ASSERT_EQ(sum, count * round + count * (count - 1) / 2);
    }
  }
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

// A kernel that takes longer than the hang timeout is seen to go on.
TEST(WorkerPool, EveryTaskIsProgressOfTheCallersRank) {
  for (const int threads : {1, 3}) {
    RankProgress progress;
    progress_of_this_thread = &progress;
    WorkerPool pool(threads);
    pool.run(17, [](std::int64_t, int) {});
    progress_of_this_thread = nullptr;
    EXPECT_EQ(progress.retired, 17U);
    pool.run(17, [](std::int64_t, int) {});
    EXPECT_EQ(progress.retired, 17U);
  }
}

// 'S' where a thread of this process sleeps, 'R' where it runs or could.
char state_of(long thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(") ");
  return name_end == std::string::npos ? '?' : text[name_end + 2];
}

// One that spins is never seen asleep; one that sleeps is, at the latest when the machine has time
// for it to get there.
TEST(WorkerPool, IdleWorkersSleep) {
  constexpr int kThreads = 4;
  WorkerPool pool(kThreads);
  std::barrier all(kThreads);
  std::array<long, kThreads> threads{};
  pool.run(kThreads, [&](std::int64_t, int thread) {
    threads[static_cast<std::size_t>(thread)] = syscall(SYS_gettid);
    all.arrive_and_wait();  // so that every worker takes a task
  });
  for (std::size_t worker = 1; worker < kThreads; ++worker) {
    while (state_of(threads[worker]) != 'S') std::this_thread::yield();
  }
}

}  // namespace
}  // namespace foreshard::executor
