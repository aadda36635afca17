// What the processes of a run agree on while it runs: how far to go when memory has run out, and
// after which step to end.
#include <gtest/gtest.h>

#include "executor/communication/message_communicator.hpp"
#include "tests/executor/communication/thread_transport.hpp"

namespace foreshard::executor {
namespace {

using Position = OutOfMemoryAgreement::Position;

Position place(std::uint64_t step, std::uint64_t instruction) {
  return step << 32 | instruction;
}

bool always(Position) {
  return true;
}

TEST(OutOfMemoryAgreement, IsSettledWhenAllAreDone) {
  OutOfMemoryAgreement agreement(3);
  EXPECT_TRUE(agreement.may_run(0, 2, 40));
  EXPECT_TRUE(agreement.may_run(1, 2, 50));
  EXPECT_FALSE(agreement.has_limit());
  EXPECT_FALSE(agreement.is_settled());
  agreement.report({2, 40, 0, {}});
  agreement.leave(0);
  EXPECT_EQ(agreement.limit(), place(2, 40));
  // The first has stopped there, but its streams have not come so far.
  agreement.look(0, [](Position) { return false; });
  EXPECT_EQ(agreement.done(0), 0U);
  for (const int rank : {0, 1}) agreement.look(rank, always);
  EXPECT_FALSE(agreement.is_settled());
  // The third may still fail before; it does.
  EXPECT_TRUE(agreement.may_run(2, 2, 30));
  agreement.look(2, always);
  EXPECT_FALSE(agreement.is_settled());
  agreement.report({2, 30, 2, {}});
  agreement.leave(2);
  agreement.look(2, always);
  EXPECT_TRUE(agreement.is_settled());
  EXPECT_EQ(agreement.first()->rank, 2);
  EXPECT_FALSE(agreement.may_run(1, 2, 51));
}

TEST(OutOfMemoryAgreement, SmallestRankIsFirstAtOnePlace) {
  OutOfMemoryAgreement agreement(3);
  for (const int rank : {1, 0, 2}) agreement.report({5, 7, rank, {}});
  EXPECT_EQ(agreement.first()->rank, 0);
}

// A rank that has done its part rests while others are on their way: it is not what they wait for,
// though they wait in a collective that it will never join.
TEST(OutOfMemoryAgreement, WhoIsDoneIsNotToBlame) {
  OutOfMemoryAgreement agreement(3);
  std::vector<Wait> waits = {{1, 0, "all_gather"}};
  agreement.correct(waits);
  EXPECT_EQ(waits.size(), 1U);
  agreement.may_run(0, 1, 10);
  agreement.may_run(1, 1, 20);
  agreement.may_run(2, 1, 5);
  agreement.report({1, 10, 0, {}});
  agreement.leave(0);
  for (const int rank : {0, 1, 2}) agreement.look(rank, always);
  agreement.correct(waits);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].waiter, 0);
  EXPECT_EQ(waits[0].awaited, 2);
}

// Two processes run out of memory at different places. A third does not, and has run ahead to where
// it waits for ever; the end of the run wakes it.
TEST(OutOfMemoryAgreement, ProcessesEndTogetherAtTheSmallest) {
  constexpr int kRanks = 3;
  PostOffice office;
  on_threads(kRanks, [&](int rank) {
    RunControl run(kRanks), closing(kRanks);
    ThreadTransport transport(office, rank, kRanks);
    Agreements agreements{OutOfMemoryAgreement(kRanks), LastStepAgreement(rank, kRanks)};
    OutOfMemoryAgreement& memory = agreements.memory;
    const auto heartbeat = make_heartbeat(run, agreements, transport);
    WatchdogOptions options;
    options.heartbeat = heartbeat.get();
    options.at_look = [&](std::vector<Wait>&) {
      memory.look(rank, always);
      if (memory.has_limit() && memory.is_settled()) run.end("out of device memory");
    };
    const Watchdog watchdog(run, {}, options);
    const std::int32_t fails_at = rank == 0 ? 70 : rank == 1 ? 40 : 1'000'000;
    const std::int32_t hangs_at = rank == 2 ? 41 : 1'000'000;
    std::int32_t at = 0;
    for (; memory.may_run(rank, 2, at); ++at) {
      if (at == fails_at) {
        memory.report({2, at, rank, {}});
        break;
      }
      if (at == hangs_at) break;
    }
    if (rank != 2) memory.leave(rank);
    run.wait_until_aborted();
    EXPECT_FALSE(run.failure());
    memory.share(closing, transport);
    ASSERT_TRUE(memory.first());
    EXPECT_EQ(memory.first()->rank, 1);
    EXPECT_EQ(memory.first()->instruction, 40);
    EXPECT_GE(at, 40);
  });
}

TEST(LastStepAgreement, OneProcessEndsWithTheStepAtHand) {
  RunControl run(2);
  LastStepAgreement agreement(0, 1);
  EXPECT_TRUE(agreement.may_begin(1, run));
  EXPECT_TRUE(agreement.may_begin(1, run));
  EXPECT_TRUE(agreement.may_begin(2, run));  // the other rank is still in step 1
  EXPECT_FALSE(agreement.is_asked());
  agreement.ask();
  EXPECT_TRUE(agreement.may_begin(2, run));
  EXPECT_FALSE(agreement.may_begin(3, run));
}

TEST(LastStepAgreement, TheGreatestPromiseCounts) {
  RunControl run(3);
  LastStepAgreement agreement(0, 3);
  EXPECT_TRUE(agreement.may_begin(4, run));
  agreement.hear(1, LastStepAgreement::kNoPromise);
  EXPECT_EQ(agreement.promise(), LastStepAgreement::kNoPromise);
  agreement.hear(1, 5);  // another process has heard of the wish, and was ahead
  EXPECT_EQ(agreement.promise(), 4);
  EXPECT_TRUE(agreement.may_begin(5, run));
  EXPECT_EQ(agreement.promise(), 4);
  agreement.hear(2, 4);
  EXPECT_FALSE(agreement.may_begin(6, run));
}

TEST(LastStepAgreement, WaitsForPromisesAndSaysSo) {
  RunControl run(2);
  LastStepAgreement agreement(0, 2);
  agreement.ask();
  std::vector<Wait> waits;
  agreement.add_waits(waits);
  EXPECT_TRUE(waits.empty());
  std::thread rank([&] { EXPECT_TRUE(agreement.may_begin(1, run)); });
  while (waits.empty()) agreement.add_waits(waits);
  EXPECT_EQ(waits[0].waiter, 0);
  EXPECT_EQ(waits[0].awaited, 1);
  agreement.hear(1, 1);
  rank.join();
}

TEST(LastStepAgreement, AnAbortEndsTheWait) {
  RunControl run(2);
  LastStepAgreement agreement(0, 2);
  agreement.ask();
  run.fail(1, "gone");
  EXPECT_THROW(agreement.may_begin(1, run), Aborted);
}

}  // namespace
}  // namespace foreshard::executor
