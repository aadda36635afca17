// Aborts reach every kind of wait, and the watchdog names the right rank.
#include "executor/device/run_control.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "executor/communication/local_communicator.hpp"
#include "executor/device/fault.hpp"
#include "executor/device/watchdog.hpp"
#include "tests/executor/communication/cpu_devices.hpp"

namespace foreshard::executor {
namespace {

constexpr Nanoseconds kSecond{1'000'000'000};

TEST(RunControl, FirstFailureIsKept) {
  RunControl run(2);
  EXPECT_FALSE(run.failure());
  EXPECT_NO_THROW(run.throw_if_aborted());
  run.fail(1, "first");
  run.fail(0, "second");
  ASSERT_TRUE(run.failure());
  EXPECT_EQ(run.failure()->rank, 1);
  EXPECT_EQ(run.failure()->message, "first");
  try {
    run.throw_if_aborted();
    FAIL();
  } catch (const Aborted& aborted) {
    EXPECT_STREQ(aborted.what(), "rank 1: first");
  }
}

TEST(RunControl, AbortEndsWaitsAndSleeps) {
  for (int round = 0; round < 20; ++round) {
    RunControl run(1);
    std::atomic<std::uint32_t> word{0};
    std::atomic<int> aborted{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        try {
          if (i % 2 == 0) run.sleep_for(1000 * kSecond);
          for (;;) run.wait(word, 0);
        } catch (const Aborted&) {
          ++aborted;
        }
      });
    }
    run.fail(0, "stop");
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(aborted, 4);
    EXPECT_THROW(run.wait(word, 0), Aborted);
    EXPECT_THROW(run.sleep_for(kSecond), Aborted);
  }
}

TEST(RunControl, EndsWithoutBlame) {
  RunControl run(2);
  run.end("over");
  run.fail(1, "too late");
  EXPECT_TRUE(run.is_aborted());
  EXPECT_FALSE(run.failure());
  try {
    run.throw_if_aborted();
    FAIL();
  } catch (const Aborted& aborted) {
    EXPECT_STREQ(aborted.what(), "over");
  }
  run.wait_until_aborted();
}

TEST(RunControl, SleepEndsByItself) {
  RunControl run(1);
  EXPECT_NO_THROW(run.sleep_for(Nanoseconds{1000}));
}

std::vector<RankStatus> statuses(std::initializer_list<int> seconds_of_progress) {
  std::vector<RankStatus> ranks;
  for (const int second : seconds_of_progress) ranks.push_back({5, 17, second * kSecond});
  return ranks;
}

std::string describe(std::uint64_t tag) {
  return "no. " + std::to_string(tag);
}

TEST(Watchdog, BlamesTheRankThatIsWaitedFor) {
  const auto failure = judge(statuses({96, 96, 95}), {{0, 2, "all_gather"}, {1, 2, "all_gather"}},
                             100 * kSecond, 4 * kSecond, describe);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 2);
  EXPECT_EQ(failure->message,
            "no progress for 5 s (last instruction: no. 17) while rank 0 waits for it in "
            "all_gather");
}

TEST(Watchdog, IsPatient) {
  EXPECT_FALSE(judge(statuses({90, 97}), {{0, 1, "all_gather"}}, 100 * kSecond, 4 * kSecond, {}));
  EXPECT_FALSE(judge(statuses({90, 90}), {}, 100 * kSecond, 4 * kSecond, {}));
}

TEST(Watchdog, LooksBehindARankThatWaitsItself) {
  const std::vector<Wait> chain = {{0, 1, "all_reduce"}, {1, 2, "all_gather"}};
  const auto failure = judge(statuses({90, 90, 90}), chain, 100 * kSecond, 4 * kSecond, {});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 2);
  EXPECT_FALSE(judge(statuses({90, 90, 99}), chain, 100 * kSecond, 4 * kSecond, {}));
}

TEST(Watchdog, SomebodyIsBlamedForADeadlock) {
  const auto failure = judge(statuses({90, 90}), {{0, 1, "all_reduce"}, {1, 0, "all_gather"}},
                             100 * kSecond, 4 * kSecond, {});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 0);
}

TEST(Watchdog, EndsARunWithAHungRank) {
  constexpr int kRanks = 3;
  RunControl run(kRanks);
  CpuDevices devices(run);
  const auto communicators = make_local_communicators(run, devices.all());
  std::vector<const WaitSource*> sources;
  for (const auto& communicator : communicators) sources.push_back(communicator.get());
  WatchdogOptions options;
  options.hang_timeout = Nanoseconds{100'000'000};
  const Watchdog watchdog(run, sources, options);
  std::atomic<int> aborted{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        for (Tag step = 1;; ++step) {
          if (rank == 1 && step == 3) run.sleep_for(1000 * kSecond);
          communicators[static_cast<std::size_t>(rank)]->barrier(Stream::compute, step);
          devices[rank].synchronize();
        }
      } catch (const Aborted&) {
        ++aborted;
      }
      devices[rank].stop();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(aborted, kRanks);
  ASSERT_TRUE(run.failure());
  EXPECT_EQ(run.failure()->rank, 1);
  EXPECT_NE(run.failure()->message.find("no progress"), std::string::npos);
  EXPECT_NE(run.failure()->message.find("waits for it in barrier"), std::string::npos);
}

// Progress counts, whoever counts it.
TEST(Watchdog, AsksForProgressWhereItIsTold) {
  RunControl run(2);
  std::atomic<int> asked{0};
  class Waits final : public WaitSource {
   public:
    void add_waits(std::vector<Wait>& waits) const override { waits.push_back({0, 1, "a test"}); }
  } waits;
  std::atomic<bool> works{true};
  WatchdogOptions options;
  options.hang_timeout = Nanoseconds{40'000'000};
  options.progress = [&](int rank) {
    if (rank == 0 || works) ++asked;
    asked.notify_all();
    return Progress{rank == 0 || works ? static_cast<std::uint64_t>(asked) : 1, 17};
  };
  options.describe = [](std::uint64_t tag) { return "no. " + std::to_string(tag); };
  const Watchdog watchdog(run, {&waits}, options);
  for (int seen = asked; seen < 60; seen = asked) asked.wait(seen);
  EXPECT_FALSE(run.failure());
  works = false;
  run.wait_until_aborted();
  ASSERT_TRUE(run.failure());
  EXPECT_EQ(run.failure()->rank, 1);
  EXPECT_NE(run.failure()->message.find("last instruction: no. 17"), std::string::npos);
}

TEST(Watchdog, ReportsThreadsThatDoNotEnd) {
  RunControl run(1);
  std::atomic<std::uint32_t> overdue{0};
  WatchdogOptions options;
  options.hang_timeout = Nanoseconds{20'000'000};
  options.grace = Nanoseconds{10'000'000};
  options.on_overdue = [&](const Failure& failure) {
    EXPECT_EQ(failure.message, "stuck");
    overdue.store(1);
    overdue.notify_all();
  };
  const Watchdog watchdog(run, {}, options);
  run.fail(0, "stuck");
  overdue.wait(0);
}

// A kernel that takes long is no failure where the run has ended because memory has run out.
TEST(Watchdog, IsPatientWithARunThatHasEnded) {
  RunControl run(1);
  std::atomic<int> looks{0}, overdue{0};
  WatchdogOptions options;
  options.hang_timeout = Nanoseconds{40'000'000};
  options.grace = Nanoseconds{1};
  options.at_look = [&](std::vector<Wait>&) {
    run.progress(0).retire();  // a part of a kernel
    looks.fetch_add(1);
    looks.notify_all();
  };
  options.on_overdue = [&](const Failure&) { overdue.fetch_add(1); };
  const Watchdog watchdog(run, {}, options);
  run.end("out of device memory");
  for (int seen = looks; seen < 30; seen = looks) looks.wait(seen);
  EXPECT_EQ(overdue, 0);
}

TEST(Watchdog, EndsARunThatHasEndedButHangs) {
  RunControl run(1);
  std::atomic<std::uint32_t> overdue{0};
  WatchdogOptions options;
  options.hang_timeout = Nanoseconds{20'000'000};
  options.on_overdue = [&](const Failure& failure) {
    EXPECT_EQ(failure.text(), "rank 0: does not end: no progress for 0.02 s");
    overdue.store(1);
    overdue.notify_all();
  };
  const Watchdog watchdog(run, {}, options);
  run.end("out of device memory");
  overdue.wait(0);
}

TEST(Fault, Parses) {
  const auto fault = parse_fault("rank:2,step:3,kind:exit");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, 2);
  EXPECT_EQ(fault->step, 3);
  EXPECT_EQ(fault->kind, Fault::Kind::exits);
  EXPECT_EQ(parse_fault("kind:throw,rank:0,step:12")->kind, Fault::Kind::throws);
  EXPECT_EQ(parse_fault("")->rank, kNoRank);
}

TEST(Fault, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"rank:2", "rank:x,step:1,kind:throw", "rank:1,step:-1,kind:throw",
                           "rank:1,step:1,kind:die", "rank:1,step:1,kind:throw,when:now", "rank"}) {
    const auto fault = parse_fault(text);
    ASSERT_FALSE(fault) << text;
    EXPECT_EQ(fault.error().file, "FORESHARD_FAULT");
  }
}

TEST(Fault, HitsOnlyItsRankAndStep) {
  const Fault fault{2, 3, Fault::Kind::throws};
  EXPECT_NO_THROW(fault.maybe_fail(2, 2));
  EXPECT_NO_THROW(fault.maybe_fail(1, 3));
  EXPECT_THROW(fault.maybe_fail(2, 3), std::runtime_error);
}

}  // namespace
}  // namespace foreshard::executor
