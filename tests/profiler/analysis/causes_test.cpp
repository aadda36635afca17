// Why time passed: gaps of computation, launches, collectives, waiting ranks and critical paths, on
// traces small enough to check by hand.
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "profiler/analysis/operators.hpp"
#include "tests/profiler/analysis/hand_made_trace.hpp"
#include "traces/meaning/clock_alignment.hpp"

namespace foreshard::profiler {
namespace {

using traces::EventKind;

std::int64_t gap(const ComputeGaps& gaps, GapCause cause) {
  return gaps[static_cast<std::size_t>(cause)];
}

TEST(ComputeGaps, SayWhatEachWaitedFor) {
  HandMadeTrace t;
  constexpr std::int64_t us = 1'000;
  t.launch(0, 0, EventKind::compute, 0, 10 * us, 20 * us)
      // 20 to 25: launched long ago, soon begun.
      .launch(0, 0, EventKind::compute, 3 * us, 25 * us, 40 * us)
      // 40 to 90: launched at 80, and until 70 the host was blocked.
      .event(0, -1, EventKind::host_wait, 10 * us, 70 * us)
      .launch(0, 0, EventKind::compute, 80 * us, 90 * us, 100 * us)
      // 100 to 130: a collective from 110 on, launched in time.
      .launch(0, 1, EventKind::communication, 85 * us, 110 * us, 130 * us)
      // 130 to 160: a copy until 140, then a kernel that had been launched at 86 begins late.
      .launch(0, 0, EventKind::memory, 87 * us, 130 * us, 140 * us)
      .launch(0, 0, EventKind::compute, 95 * us, 160 * us, 170 * us)
      // 170 to 200: its launch is not recorded.
      .event(0, 0, EventKind::compute, 200 * us, 210 * us);
  const Analysis analysis = analyse(t.trace);
  const ComputeGaps& gaps = analysis.ranks[0].gaps;
  EXPECT_EQ(gap(gaps, GapCause::between_kernels), 5 * us);
  EXPECT_EQ(gap(gaps, GapCause::host_blocked), 30 * us);
  EXPECT_EQ(gap(gaps, GapCause::launch_bound), 20 * us);
  EXPECT_EQ(gap(gaps, GapCause::other_ranks), 10 * us);
  EXPECT_EQ(gap(gaps, GapCause::communication), 20 * us);
  EXPECT_EQ(gap(gaps, GapCause::copies), 10 * us);
  EXPECT_EQ(gap(gaps, GapCause::dependency), 20 * us);
  EXPECT_EQ(gap(gaps, GapCause::unknown), 30 * us);
  std::int64_t sum = 0;
  for (const std::int64_t ns : gaps) sum += ns;
  EXPECT_EQ(sum, analysis.ranks[0].time.span_ns - analysis.ranks[0].time.compute_ns);
}

// Each call takes 20 us, and its kernel, of 3 us, begins 15 us after its beginning: each has been called for when the
// one before it ends, and none has been launched.
TEST(ComputeGaps, AreOfLaunchesThatTakeLongerThanTheirKernels) {
  HandMadeTrace t;
  constexpr std::int64_t us = 1'000;
  for (std::int64_t n = 0; n < 10; ++n) {
    t.launch(0, 0, EventKind::compute, 14 * n * us, (14 * n + 15) * us, (14 * n + 18) * us);
  }
  t.launch(0, 0, EventKind::compute, 200 * us, 215 * us, 218 * us);
  const ComputeGaps gaps = analyse(t.trace).ranks[0].gaps;
  EXPECT_EQ(gap(gaps, GapCause::launch_bound), (9 * 11 + 71) * us);
}

// NCCL's kernels wait for other ranks while they run.
TEST(ComputeGaps, OfARecordedGpuDoNotWaitForOtherRanksBeforeACollective) {
  HandMadeTrace t;
  t.trace.metadata["source"] = "kineto";
  t.launch(0, 0, EventKind::compute, 0, 10'000, 20'000)
      .launch(0, 1, EventKind::communication, 5'000, 90'000, 95'000);
  const ComputeGaps gaps = analyse(t.trace).ranks[0].gaps;
  EXPECT_EQ(gap(gaps, GapCause::other_ranks), 0);
  EXPECT_EQ(gap(gaps, GapCause::dependency), 70'000);
}

// Three steps of 100: until 60 the host loads data, at 70 it launches 20 of work, from 95 on it saves.
HandMadeTrace steps_that_load() {
  HandMadeTrace t;
  for (int step = 3; step < 6; ++step) {
    const std::int64_t begin = 100 * (step - 3);
    t.step(0, step, begin, begin + 99)
        .event(0, -1, EventKind::range, begin, begin + 99, step, "ProfilerStep")
        .event(0, -1, EventKind::range, begin + 1, begin + 60, step,
               "enumerate(DataLoader)#_Iter.__next__")
        .event(0, -1, EventKind::host, begin + 20, begin + 30, step, "aten::stack")
        .event(0, -1, EventKind::range, begin + 95, begin + 98, step, "save_checkpoint")
        .launch(0, 0, EventKind::compute, begin + 70, begin + 72, begin + 92);
    t.trace.events.update_last([&](traces::Event& e) { e.step = step; });
  }
  traces::sort(t.trace);
  return t;
}

TEST(SteadyStep, CountsWhatLiesBeforeItsWorkAndSaysWhatTheHostWasIn) {
  const Analysis analysis = analyse(steps_that_load().trace);
  EXPECT_EQ(analysis.step_time_ns, 99);
  ASSERT_TRUE(analysis.steady_step);
  const SteadyStep& step = *analysis.steady_step;
  EXPECT_EQ(step.time.span_ns, 100);  // from 92 to 192
  EXPECT_EQ(step.time.compute_ns, 20);
  EXPECT_EQ(step.time.idle_ns, 80);
  std::map<std::string, std::int64_t> causes;
  for (const IdleCause& cause : step.causes) causes[cause.cause + " " + cause.name] += cause.ns;
  EXPECT_EQ(causes["data_loading enumerate(DataLoader)#_Iter.__next__"], 59);
  EXPECT_EQ(causes["checkpoint save_checkpoint"], 3);
  std::int64_t sum = 0;
  for (const auto& [cause, ns] : causes) sum += ns;
  EXPECT_EQ(sum, 80);
}

// The host issues a step in 10 that the device needs 50 for.
TEST(SteadyStep, TakesAsLongAsADeviceThatLagsBehind) {
  HandMadeTrace t;
  for (int step = 3; step < 8; ++step) {
    const std::int64_t begin = 10 * (step - 3), work = 5 + 50 * (step - 3);
    t.step(0, step, begin, begin + 10).launch(0, 0, EventKind::compute, begin + 1, work, work + 50);
    t.trace.events.update_last([&](traces::Event& e) { e.step = step; });
  }
  const Analysis analysis = analyse(t.trace);
  EXPECT_EQ(analysis.step_time_ns, 50);
  EXPECT_EQ(analysis.steady_step->time.compute_ns, 50);
  EXPECT_EQ(analysis.steady_step->time.idle_ns, 0);
}

TEST(SteadyStep, IsNotKnownWhereTheRecordingWasCutOff) {
  HandMadeTrace t = steps_that_load();
  t.trace.complete = false;
  t.trace.complete_until_ns = 0;
  EXPECT_FALSE(analyse(t.trace).steady_step);
}

// Six steps of 100, of which the device computes 50; before the last but one the host loads data for 30 more.
TEST(SlowestStep, IsTheOneWhoseIdleTimeIsLonger) {
  const auto run = [](std::int64_t late, int last) {
    HandMadeTrace t;
    for (int step = 3; step <= last; ++step) {
      const bool is_late = step == last - 1;
      const std::int64_t begin = 100 * step + (step == last ? late : 0);
      const std::int64_t work = begin + 40 + (is_late ? late : 0);
      t.step(0, step, begin, work + 55)
          .event(0, -1, EventKind::range, begin + 2, work - 10, step, "DataLoader.get_batch")
          .launch(0, 0, EventKind::compute, work - 5, work, work + 50);
      t.trace.events.update_last([&](traces::Event& e) { e.step = step; });
    }
    traces::sort(t.trace);
    return analyse(t.trace).slowest_step;
  };
  const auto slowest = run(30, 8);
  ASSERT_TRUE(slowest);
  EXPECT_EQ(slowest->step, 7);
  EXPECT_EQ(slowest->median_ns, 100);
  EXPECT_EQ(slowest->duration_ns, 130);
  EXPECT_EQ(slowest->parts.time.compute_ns, 50);
  EXPECT_EQ(slowest->parts.time.idle_ns, 80);
  EXPECT_EQ(slowest->difference.cause, "data_loading");
  EXPECT_EQ(slowest->difference.name, "DataLoader.get_batch");
  EXPECT_EQ(slowest->difference.ns, 30);
  EXPECT_FALSE(run(5, 8));   // does not stand out
  EXPECT_FALSE(run(30, 5));  // three steps
}

TEST(Launches, AreCountedWithDelayAndQueue) {
  HandMadeTrace t;
  t.launch(0, 0, EventKind::compute, 0, 10, 20)
      .launch(0, 0, EventKind::compute, 3, 20, 30)
      .launch(0, 1, EventKind::communication, 6, 9, 40)
      .event(0, 0, EventKind::compute, 50, 60);
  const LaunchStatistics launches = analyse(t.trace).ranks[0].launches;
  EXPECT_EQ(launches.launches, 3);
  EXPECT_EQ(launches.unknown, 1);
  EXPECT_EQ(launches.call_ns, 6);
  EXPECT_EQ(launches.delay_ns, 10 + 17 + 3);
  EXPECT_EQ(launches.longest_queue, 3);  // from 6 to 9
}

// As a CUDA graph's are: one call, whatever it has launched.
TEST(Launches, OfSeveralKernelsByOneCallAreOne) {
  HandMadeTrace t;
  t.launch(0, 0, EventKind::compute, 0, 10, 20).event(0, 0, EventKind::compute, 20, 30);
  t.trace.events.update_last([](traces::Event& e) { e.correlation = 1; });
  const LaunchStatistics launches = analyse(t.trace).ranks[0].launches;
  EXPECT_EQ(launches.launches, 1);
  EXPECT_EQ(launches.call_ns, 2);
  EXPECT_EQ(launches.delay_ns, 10);
  EXPECT_EQ(launches.longest_queue, 1);
}

TEST(Launches, OfOurOwnAreJoinedByStepAndInstruction) {
  HandMadeTrace t;
  t.event(0, -1, EventKind::host, 0, 5).event(0, 0, EventKind::compute, 10, 20);
  t.event(0, -1, EventKind::host, 20, 25, 2).event(0, 0, EventKind::compute, 30, 40, 2);
  t.trace.events.update_all([](traces::Event& e) { e.instruction = 7; });
  const Launches launches(t.trace);
  for (std::size_t i = 0; i < t.trace.events.size(); ++i) {
    const traces::Event& e = t.trace.events[i];
    if (e.kind != EventKind::compute) continue;
    ASSERT_NE(launches.of(i), Launches::kUnknown);
    EXPECT_EQ(t.trace.events[static_cast<std::size_t>(launches.of(i))].step, e.step);
  }
}

TEST(Collectives, ShareOutExposedTime) {
  HandMadeTrace t;
  t.event(0, 0, EventKind::compute, 0, 30)
      .event(0, 1, EventKind::communication, 20, 60, 1, "all_gather")
      .event(0, 0, EventKind::communication, 50, 80, 1, "reduce_scatter")
      .event(0, 0, EventKind::compute, 70, 90);
  const Analysis analysis = analyse(t.trace);
  ASSERT_EQ(analysis.collectives.size(), 2u);
  EXPECT_EQ(analysis.collectives[0].name, "all_gather");
  EXPECT_EQ(analysis.collectives[0].exposed_ns, 30);  // 30 to 60
  EXPECT_EQ(analysis.collectives[1].exposed_ns, 10);  // 60 to 70: before, the other one ran
  EXPECT_EQ(analysis.ranks[0].time.exposed_communication_ns, 40);
}

// Rank 1 comes 40 ns late to the first; only rank 0 has the third.
TEST(Collectives, HaveBandwidthsWithoutTheWaitForOtherRanks) {
  HandMadeTrace t(2);
  t.event(0, 1, EventKind::communication, 0, 1'040, 1, "first")
      .event(1, 1, EventKind::communication, 40, 1'040, 1, "first")
      .event(0, 1, EventKind::communication, 2'000, 4'000, 1, "second")
      .event(1, 1, EventKind::communication, 2'000, 4'000, 1, "second")
      .event(0, 1, EventKind::communication, 5'000, 7'000, 1, "only here")
      .event(0, 1, EventKind::communication, 8'000, 9'000, 1, "of unknown size");
  const auto key = [&](const char* text) { return t.trace.strings.intern(text); };
  const traces::StringId gather = key("all_gather fp32 1000000 2"),
                         reduce = key("all_reduce fp32 3000000 4");
  t.trace.events.update_all([&](traces::Event& e) {
    if (e.start_ns < 5'000) e.cost_key = gather;
    if (e.start_ns == 5'000) e.cost_key = reduce;
  });
  const Analysis analysis = analyse(t.trace);
  ASSERT_EQ(analysis.collectives.size(), 4u);
  const std::vector<CollectiveCost> sizes = by_size(analysis.collectives);
  ASSERT_EQ(sizes.size(), 2u);  // the first and the second are of one size
  EXPECT_EQ(sizes[0].key.op, Operator::all_gather);
  EXPECT_EQ(sizes[0].count, 4);
  EXPECT_EQ(sizes[0].matched, 4);
  EXPECT_EQ(sizes[0].total_ns, 6'040);
  EXPECT_EQ(sizes[0].transfer_ns, 6'000);
  ASSERT_TRUE(bandwidth(sizes[0]));
  EXPECT_DOUBLE_EQ(bandwidth(sizes[0])->algorithm_gb_s, 4e6 / 6'000);
  EXPECT_DOUBLE_EQ(bandwidth(sizes[0])->bus_gb_s, 4e6 / 6'000 / 2);
  EXPECT_EQ(sizes[1].matched, 0);
  ASSERT_TRUE(bandwidth(sizes[1]));
  EXPECT_DOUBLE_EQ(bandwidth(sizes[1])->bus_gb_s, 1500 * 2 * 3.0 / 4);
  for (const CollectiveCost& one : analysis.collectives) {
    EXPECT_EQ(bandwidth(one).has_value(), one.name != "of unknown size") << one.name;
  }
  EXPECT_EQ(by_unit(analysis.collectives).size(), 4u);
}

// The second rank's clock is 5 ms ahead.
TEST(RankWaits, AreAsTheyWereWhereClocksDiffer) {
  HandMadeTrace t(2);
  for (std::int64_t n = 0; n < 5; ++n) {
    const std::int64_t end = 1'000'000 * (n + 1);
    t.event(0, 1, EventKind::communication, end - 100'000, end, 1, "nccl")
        .event(1, 1, EventKind::communication, end + 4'950'000, end + 5'003'000, 1, "nccl");
  }
  const auto moved = traces::align_clocks(t.trace);
  EXPECT_EQ(moved, (std::map<std::int32_t, std::int64_t>{{1, -5'003'000}}));
  std::map<std::int32_t, std::int64_t> last;
  for (const traces::Event& e : t.trace.events) {
    std::int64_t& end = last[t.trace.lanes[static_cast<std::size_t>(e.lane)].rank];
    end = std::max(end, e.end_ns);
  }
  EXPECT_EQ(last[0], last[1]);
  EXPECT_EQ(traces::align_clocks(t.trace).size(), 0u);
}

// Two pairs of ranks, of which one pair takes longer for reasons of its own, and a pair that begins to be recorded
// one collective apart.
TEST(RankWaits, AreOfTheRanksOfAProcessGroup) {
  HandMadeTrace t(4);
  const auto gather = [&](int rank, const char* group, std::int64_t number, std::int64_t start,
                          std::int64_t end) {
    t.event(rank, 1, EventKind::communication, start, end, 1, "ncclDevKernel_AllGather");
    const traces::StringId its = t.trace.strings.intern(group);
    t.trace.events.update_all([&](traces::Event& e) {
      if (t.trace.lanes[static_cast<std::size_t>(e.lane)].rank != rank || e.start_ns != start)
        return;
      e.group = its;
      e.sequence = number;
    });
  };
  for (const int rank : {0, 1}) gather(rank, "1 [0, 1]", 1, 100, 200);
  gather(2, "2 [2, 3]", 1, 100, 500);
  gather(3, "2 [2, 3]", 1, 130, 500);
  gather(3, "2 [2, 3]", 2, 600, 650);
  gather(2, "2 [2, 3]", 2, 640, 650);
  gather(0, "1 [0, 1]", 2, 700, 800);  // the other rank's was not recorded
  traces::sort(t.trace);
  const Analysis analysis = analyse(t.trace);
  ASSERT_EQ(analysis.groups.size(), 2u);
  EXPECT_EQ(analysis.groups[0].name, "1");
  EXPECT_EQ(analysis.groups[1].ranks, (std::vector<std::int32_t>{2, 3}));
  ASSERT_EQ(analysis.waits.size(), 4u);
  std::vector<std::int64_t> waited, last, matched;
  for (const RankWaits& one : analysis.waits) {
    waited.push_back(one.waited_ns);
    last.push_back(one.arrived_last);
    matched.push_back(one.collectives);
  }
  EXPECT_EQ(waited, (std::vector<std::int64_t>{0, 0, 30, 40}));
  EXPECT_EQ(last, (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(matched, (std::vector<std::int64_t>{1, 1, 2, 2}));
}

TEST(RankWaits, FindTheRankThatComesLast) {
  HandMadeTrace t(2);
  for (int i = 0; i < 3; ++i) {
    // Rank 1 comes 40 later; clocks differ by 1000.
    t.event(0, 1, EventKind::communication, 100 * i, 100 * i + 50, 1, "all_gather");
    t.event(1, 1, EventKind::communication, 1040 + 100 * i, 1050 + 100 * i, 1, "all_gather");
  }
  t.event(0, 1, EventKind::communication, 900, 910, 1, "only here");
  const auto waits = analyse(t.trace).waits;
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].collectives, 3);
  EXPECT_EQ(waits[0].waited_ns, 120);
  EXPECT_EQ(waits[0].arrived_last, 0);
  EXPECT_EQ(waits[1].waited_ns, 0);
  EXPECT_EQ(waits[1].arrived_last, 3);
  EXPECT_EQ(waits[1].median_lag_ns, 40);
}

// Rank 0 computes, waits in the collective for rank 1, computes again; its host waits for all.
TEST(CriticalPath, GoesThroughTheRankThatCameLast) {
  HandMadeTrace t(2);
  t.launch(0, 0, EventKind::compute, 0, 5, 20, "short");
  t.launch(0, 1, EventKind::communication, 3, 20, 75, "all_gather");
  t.event(0, 0, EventKind::wait, 20, 75).launch(0, 0, EventKind::compute, 6, 76, 90, "last");
  t.event(0, -1, EventKind::host_wait, 10, 95, 1, "synchronize");
  t.launch(1, 0, EventKind::compute, 0, 4, 60, "long");
  t.event(1, 1, EventKind::wait, 4, 60);
  t.launch(1, 1, EventKind::communication, 3, 60, 75, "all_gather");
  const CriticalPath path = analyse(t.trace).path;
  EXPECT_EQ(path.start_ns, 0);
  EXPECT_EQ(path.end_ns, 95);
  std::map<std::pair<std::string, std::string>, std::int64_t> parts;
  std::int64_t sum = 0;
  for (const PathPart& part : path.parts) {
    parts[{part.name, part.kind}] = part.ns;
    sum += part.ns;
  }
  EXPECT_EQ(sum, 95);
  EXPECT_EQ((parts[{"long", "compute"}]), 56);
  EXPECT_EQ((parts[{"all_gather", "communication"}]), 15);  // since rank 1 was there
  EXPECT_EQ((parts[{"last", "compute"}]), 14);
  EXPECT_EQ((parts[{"last", "waiting"}]), 1);
  EXPECT_EQ((parts[{"synchronize", "waiting"}]), 5);
  EXPECT_EQ((parts.count({"short", "compute"})), 0u);
}

// Clocks of devices and hosts differ by some microseconds: work may begin before the recorded call that launched it.
TEST(CriticalPath, GoesThroughLaunchesThatAreRecordedAfterTheirWork) {
  HandMadeTrace t;
  t.trace.metadata["source"] = "kineto";
  constexpr std::int64_t us = 1'000;
  t.launch(0, 0, EventKind::compute, 0, 0, 20 * us, "first")
      .event(0, -1, EventKind::host, 30 * us, 190 * us, 1, "tokenize")
      .launch(0, 1, EventKind::communication, 200 * us, 190 * us, 260 * us, "all_to_all");
  const CriticalPath path = analyse(t.trace).path;
  ASSERT_FALSE(path.parts.empty());
  EXPECT_EQ(path.parts[0].name, "tokenize");
  EXPECT_EQ(path.parts[0].ns, 160 * us);
  for (const PathPart& part : path.parts) {
    EXPECT_TRUE(part.kind != "waiting" || part.ns <= 10 * us) << part.name;
  }
}

// What one host thread begins another may have caused.
TEST(CriticalPath, ChangesHostThreads) {
  HandMadeTrace t;
  t.trace.lanes.push_back({0, false, t.trace.strings.intern("autograd")});
  t.event(0, -1, EventKind::host, 0, 40, 1, "forward");
  t.event(1, -1, EventKind::host, 45, 90, 1, "backward");  // lane 3: the second thread of rank 0
  const CriticalPath path = analyse(t.trace).path;
  ASSERT_EQ(path.events.size(), 2u);
  EXPECT_EQ(path.parts[0].name, "backward");
  EXPECT_EQ(path.parts[1].name, "forward");
  EXPECT_EQ(path.parts[1].ns, 40);
}

// A host thread is not idle between two operators: it runs code that is not recorded.
TEST(CriticalPath, HostThreadsDoNotWaitBetweenOperators) {
  HandMadeTrace t;
  t.event(0, -1, EventKind::host, 0, 40, 1, "linear")
      .event(0, -1, EventKind::host, 70, 90, 1, "add");
  const CriticalPath path = analyse(t.trace).path;
  ASSERT_EQ(path.parts.size(), 3u);
  EXPECT_EQ(path.parts[1].name, "(between operators)");
  EXPECT_EQ(path.parts[1].kind, "host");
  EXPECT_EQ(path.parts[1].ns, 30);
}

// Of a program that polls, or a recorder that leaves waits out.
TEST(CriticalPath, HostsThatKeepStepWithTheirDeviceWaitForIt) {
  HandMadeTrace t;
  t.trace.metadata["source"] = "kineto";
  constexpr std::int64_t kMs = 1'000'000, kPeriod = kMs + 10'000;
  for (int i = 0; i < 12; ++i) {
    t.event(0, -1, EventKind::runtime, i * kPeriod, i * kPeriod + 2'000, 1, "launch");
    t.event(0, 0, EventKind::compute, i * kPeriod + 3'000, i * kPeriod + 3'000 + kMs, 1, "kernel");
  }
  const CriticalPath path = analyse(t.trace).path;
  EXPECT_EQ(path.parts[0].name, "kernel");
  EXPECT_EQ(path.parts[0].ns, 12 * kMs);
}

// An operator is on the path only while nothing that it called was: the device's work during a wait
// inside it is the device's.
TEST(CriticalPath, GoesThroughWhatOperatorsCall) {
  HandMadeTrace t;
  t.event(0, -1, EventKind::host, 0, 100, 1, "to")
      .event(0, -1, EventKind::host, 1, 3, 1, "empty")
      .launch(0, 0, EventKind::compute, 5, 10, 88, "kernel")
      .event(0, -1, EventKind::host_wait, 20, 90, 1, "synchronize");
  const CriticalPath path = analyse(t.trace).path;
  std::map<std::pair<std::string, std::string>, std::int64_t> parts;
  for (const PathPart& part : path.parts) {
    parts[{part.name, part.kind}] = part.ns;
    EXPECT_EQ(part.count, 1) << part.name << ": it ran once, whatever it called between";
  }
  const std::map<std::pair<std::string, std::string>, std::int64_t> expected{
      {{"kernel", "compute"}, 78}, {{"to", "host"}, 10 + 2 + 1},    {{"kernel", "waiting"}, 3},
      {{"launch", "runtime"}, 2},  {{"synchronize", "waiting"}, 2}, {{"empty", "host"}, 2}};
  EXPECT_EQ(parts, expected);
}

// A copy that the host waits for is launched by the very call that waits, here by one inside another.
TEST(CriticalPath, GoesThroughSynchronousCopiesOnce) {
  HandMadeTrace t;
  t.event(0, -1, EventKind::host_wait, 0, 100, 1, "cudaMemcpy")
      .event(0, -1, EventKind::host_wait, 1, 99, 1, "cudaMemcpy_v3020")
      .event(0, 0, EventKind::memory, 20, 95, 1, "copy");
  t.trace.events.update_all([](traces::Event& e) { e.correlation = 7; });
  const CriticalPath path = analyse(t.trace).path;
  std::map<std::string, std::int64_t> parts;
  for (const PathPart& part : path.parts) parts[part.name + " " + part.kind] += part.ns;
  EXPECT_EQ(parts["copy memory"], 75);
  std::int64_t sum = 0;
  for (const auto& [name, ns] : parts) sum += ns;
  EXPECT_EQ(sum, 100);
}

// Whatever overlaps, launches and waits, a path ends and adds up to its length.
TEST(CriticalPath, EndsAndAddsUpOnRandomTraces) {
  std::mt19937 random(20261123);
  const auto draw = [&random](std::int64_t end) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
  };
  constexpr EventKind kOfHosts[] = {EventKind::host, EventKind::host_wait, EventKind::runtime};
  constexpr EventKind kOfStreams[] = {EventKind::compute, EventKind::communication,
                                      EventKind::memory, EventKind::wait};
  for (int round = 0; round < 2000; ++round) {
    HandMadeTrace t(2);
    const std::int64_t events = 2 + draw(14);
    for (std::int64_t i = 0; i < events; ++i) {
      const std::int64_t start = draw(12), stream = draw(3) - 1;
      t.event(static_cast<int>(draw(2)), static_cast<int>(stream),
              stream < 0 ? kOfHosts[draw(3)] : kOfStreams[draw(4)], start, start + draw(9));
    }
    t.trace.events.update_all([&](traces::Event& e) { e.correlation = draw(5); });
    const CriticalPath path = analyse(t.trace).path;
    std::int64_t sum = 0;
    for (const PathPart& part : path.parts) sum += part.ns;
    ASSERT_EQ(sum, path.end_ns - path.start_ns) << "round " << round;
    ASSERT_LE(path.events.size(), 4 * t.trace.events.size()) << "round " << round;
  }
}

TEST(CriticalPath, EndsOnDamagedTraces) {
  HandMadeTrace t(2);
  for (int i = 0; i < 8; ++i) {
    t.event(i % 2, i % 3 - 1, i % 3 == 0 ? EventKind::host_wait : EventKind::communication, 0, 10);
    t.event(i % 2, i % 3 - 1, EventKind::communication, 10, 10);
  }
  EXPECT_EQ(analyse(t.trace).path.end_ns, 10);
  EXPECT_TRUE(analyse(traces::Trace{}).path.events.empty());
}

TEST(Operators, OfOthersAreCountedByThemselves) {
  HandMadeTrace t;
  t.event(0, -1, EventKind::host, 0, 100, 1, "linear")
      .event(0, -1, EventKind::host, 10, 40, 1, "transpose")
      .event(0, -1, EventKind::host, 50, 90, 1, "addmm")
      .event(0, -1, EventKind::runtime, 60, 80, 1, "launch")
      .event(0, -1, EventKind::host, 100, 130, 1, "linear");
  std::map<std::string, const OperatorTotal*> by_name;
  const auto totals = operator_totals(t.trace);
  for (const OperatorTotal& one : totals) by_name[one.name] = &one;
  EXPECT_EQ(by_name.at("linear")->total_ns, 130);
  EXPECT_EQ(by_name.at("linear")->self_ns, 60);
  EXPECT_EQ(by_name.at("linear")->shortest_ns, 30);
  EXPECT_EQ(by_name.at("linear")->longest_ns, 100);
  EXPECT_EQ(by_name.at("addmm")->self_ns, 20);
  EXPECT_EQ(by_name.at("launch")->self_ns, 20);
}

// Threads that share a number, or clocks that round: calls of one operator that overlap.
TEST(Operators, CountOverlappingCallsOnce) {
  HandMadeTrace t;
  t.event(0, -1, EventKind::host, 0, 10, 1, "caller")
      .event(0, -1, EventKind::host, 1, 6, 1, "first")
      .event(0, -1, EventKind::host, 2, 9, 1, "second");
  for (const OperatorTotal& one : operator_totals(t.trace)) {
    EXPECT_EQ(one.self_ns, one.name == "caller" ? 2 : one.total_ns);  // 0 to 1, 9 to 10
  }
}

}  // namespace
}  // namespace foreshard::profiler
