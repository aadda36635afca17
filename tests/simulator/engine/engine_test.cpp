#include "simulator/engine/engine.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/simulator/engine/random_program.hpp"
#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {
namespace {

EngineOptions one_step(bool shares) {
  EngineOptions options;
  options.steps = 1;
  options.shares = shares;
  options.simulated = Simulated::all_ranks;
  return options;
}

std::vector<RankTimeline> run(const std::vector<SmallProgram>& programs,
                              const EngineOptions& options) {
  std::vector<SimulatedRank> ranks;
  for (const SmallProgram& program : programs) ranks.push_back(program.simulated());
  return simulate(ranks, options);
}

// What does not depend on sharing must come out the same both ways.
class BothEngines : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Engine, BothEngines, testing::Values(false, true),
                         [](const auto& both) { return both.param ? "shared" : "in_order"; });

TEST_P(BothEngines, StreamsRunSideBySideAndInOrder) {
  SmallProgram p;
  p.launch(kCompute, 100).launch(kCompute, 50).launch(kGather, 70);
  const auto t = run({p}, one_step(GetParam()))[0];
  EXPECT_EQ(t.spans[0].end, 100);
  EXPECT_EQ(t.spans[1].start, 100);
  EXPECT_EQ(t.spans[1].end, 150);
  EXPECT_EQ(t.spans[2].start, 0);
  EXPECT_EQ(t.spans[2].end, 70);
}

TEST_P(BothEngines, AnEventOrdersTwoStreams) {
  // compute: 0-100; gather waits for it: 100-170; compute's second does not wait: 100-150.
  SmallProgram p;
  p.launch(kCompute, 100).record(kCompute, 0).launch(kCompute, 50);
  p.wait(kGather, 0).launch(kGather, 70);
  const auto t = run({p}, one_step(GetParam()))[0];
  EXPECT_EQ(t.spans[2].end, 150);
  EXPECT_EQ(t.spans[4].start, 100);
  EXPECT_EQ(t.spans[4].end, 170);
}

TEST_P(BothEngines, WaitingForAnEventNobodyRecordedIsNoWait) {
  SmallProgram p;
  p.wait(kGather, 0).launch(kGather, 70).launch(kCompute, 5).record(kCompute, 0);
  EXPECT_EQ(run({p}, one_step(GetParam()))[0].spans[1].start, 0);
}

TEST_P(BothEngines, AWaitMeansTheLastRecordBeforeIt) {
  // The event is recorded at 10 and again at 30; the gather stream asked in between.
  SmallProgram p;
  p.launch(kCompute, 10).record(kCompute, 0).wait(kGather, 0);
  p.launch(kCompute, 20).record(kCompute, 0).launch(kGather, 1);
  EXPECT_EQ(run({p}, one_step(GetParam()))[0].spans[5].start, 10);
}

TEST_P(BothEngines, TheHostRunsAheadAndPaysForEveryInstruction) {
  // Launches cost the host 10 each: issued at 0, 10, 20; the device takes 100 for each, from 10 on.
  SmallProgram p;
  p.launch(kCompute, 100).launch(kCompute, 100).launch(kCompute, 100);
  EngineOptions options = one_step(GetParam());
  options.host.issue_ns[static_cast<std::size_t>(Kind::launch)] = 10;
  const auto t = run({p}, options)[0];
  EXPECT_EQ(t.spans[2].issue, 20);
  EXPECT_EQ(t.spans[0].start, 10);
  EXPECT_EQ(t.spans[2].start, 210);
  EXPECT_EQ(t.step_end_ns[1], 30);
}

TEST_P(BothEngines, ABlockingWaitStopsTheHost) {
  // The host waits until 100 (+ 5 to wake up), only then issues the second launch.
  SmallProgram p;
  p.launch(kCompute, 100).record(kCompute, 0).host_wait(0).launch(kCompute, 30);
  EngineOptions options = one_step(GetParam());
  options.host.wait_latency_ns = 5;
  const auto t = run({p}, options)[0];
  EXPECT_EQ(t.spans[2].start, 0);
  EXPECT_EQ(t.spans[2].end, 105);
  EXPECT_EQ(t.spans[3].start, 105);
}

TEST_P(BothEngines, HostWorkDelaysWhatIsIssuedAfterIt) {
  SmallProgram p;
  p.launch(kCompute, 10).host_compute(200).launch(kCompute, 10);
  const auto t = run({p}, one_step(GetParam()))[0];
  EXPECT_EQ(t.spans[1].start, 0);
  EXPECT_EQ(t.spans[1].end, 200);
  EXPECT_EQ(t.spans[2].start, 200);
}

TEST_P(BothEngines, IdleStreamsWakeUpAndBusyOnesHaveGaps) {
  // Wake-up 7: 7-107. Gap 3: 110-160. After an event 11: 171-181.
  SmallProgram p;
  p.launch(kCompute, 100)
      .launch(kCompute, 50)
      .record(kCompute, 0)
      .wait(kGather, 0)
      .launch(kGather, 10);
  EngineOptions options = one_step(GetParam());
  options.host.launch_latency_ns = 7;
  options.host.stream_gap_ns = 3;
  options.host.event_latency_ns = 11;
  const auto t = run({p}, options)[0];
  EXPECT_EQ(t.spans[0].start, 7);
  EXPECT_EQ(t.spans[1].start, 110);
  EXPECT_EQ(t.spans[4].start, 171);
}

TEST_P(BothEngines, LaunchLatencyIsAMinimum) {
  // The stream is busy until 120 (latency 20); the host issues the next launch at `issued`. It
  // starts 20 later at the earliest, and 3 after the stream was busy.
  const std::pair<std::int64_t, std::int64_t> starts[] = {{90, 123},  {103, 123}, {104, 124},
                                                          {119, 139}, {120, 140}, {121, 141}};
  for (const auto& [issued, start] : starts) {
    SmallProgram p;
    p.launch(kCompute, 100).host_compute(issued).launch(kCompute, 10);
    EngineOptions options = one_step(GetParam());
    options.host.launch_latency_ns = 20;
    options.host.stream_gap_ns = 3;
    EXPECT_EQ(run({p}, options)[0].spans[2].start, start) << issued;
  }
}

TEST_P(BothEngines, CollectivesHaveTheLatenciesOfOtherTasks) {
  // Launch latency 7, meeting 5: 12-32. Gap 3, meeting 5: 40-60. After the event of the first, which
  // the other stream sees 11 later, its own communicator's meeting: 32 + 11 + 5 = 48.
  SmallProgram p;
  p.collective(kGather, 20).record(kGather, 0).collective(kGather, 20);
  p.wait(kReduce, 0).collective(kReduce, 20, Group::replicate);
  EngineOptions options = one_step(GetParam());
  options.host.launch_latency_ns = 7;
  options.host.stream_gap_ns = 3;
  options.host.event_latency_ns = 11;
  options.host.rendezvous_ns = 5;
  const auto t = run({p}, options)[0];
  EXPECT_EQ(t.spans[0].start, 12);
  EXPECT_EQ(t.spans[2].start, 40);
  EXPECT_EQ(t.spans[4].start, 48);
}

TEST_P(BothEngines, ACollectiveWaitsForTheLastRank) {
  // Rank 0 is there at 30, rank 1 at 80: both 80-100, and compute goes on after it.
  SmallProgram a(0, 2), b(1, 2);
  a.launch(kGather, 30).collective(kGather, 20).launch(kGather, 1);
  b.launch(kGather, 80).collective(kGather, 20).launch(kGather, 1);
  const auto t = run({a, b}, one_step(GetParam()));
  for (const auto& rank : t) {
    EXPECT_EQ(rank.spans[1].start, 80);
    EXPECT_EQ(rank.spans[1].end, 100);
    EXPECT_EQ(rank.spans[2].start, 100);
  }
}

TEST_P(BothEngines, OneCommunicatorTakesCollectivesInIssueOrder) {
  // Issue order: first the one on `gather`, which has to wait behind 50 of other work, then the one
  // on `reduce`, which could begin at once but must not overtake: 50-70, then 70-90.
  SmallProgram p;
  p.launch(kGather, 50).collective(kGather, 20).collective(kReduce, 20);
  const auto t = run({p}, one_step(GetParam()))[0];
  EXPECT_EQ(t.spans[1].start, 50);
  EXPECT_EQ(t.spans[2].start, 70);
  EXPECT_EQ(t.spans[2].end, 90);
}

TEST_P(BothEngines, CommunicatorsOfDifferentGroupsOverlap) {
  SmallProgram p;
  p.launch(kGather, 50).collective(kGather, 20).collective(kReduce, 20, Group::replicate);
  EXPECT_EQ(run({p}, one_step(GetParam()))[0].spans[2].start, 0);
}

TEST_P(BothEngines, ADelayOfTheAllocatorStopsTheHostAndMayDrainTheDevice) {
  // Launch 0-100. The free's release waits for it, then takes 40; the next launch starts at 140.
  SmallProgram p;
  p.launch(kCompute, 100).add(Kind::alloc, kCompute, 0).launch(kCompute, 10);
  std::vector<HostDelay> delays{{1, 1, 40, true}};
  const std::vector<SimulatedRank> ranks{p.simulated(&delays)};
  EXPECT_EQ(simulate(ranks, one_step(GetParam()))[0].spans[2].start, 140);
}

TEST_P(BothEngines, ProgramsThatWaitForEachOtherAreReported) {
  SmallProgram a(0, 2), b(1, 2);
  a.collective(kGather, 1);
  b.launch(kGather, 1);
  EXPECT_THROW(run({a, b}, one_step(GetParam())), std::logic_error);
}

TEST_P(BothEngines, StopsWhereItIsTold) {
  SmallProgram p;
  p.launch(kCompute, 100).launch(kCompute, 50);
  EngineOptions options = one_step(GetParam());
  options.stop_step = 1;
  options.stop_instruction = 1;
  const auto t = run({p}, options)[0];
  EXPECT_EQ(t.spans.size(), 1);
  EXPECT_EQ(t.first_span, (std::vector<std::size_t>{0, 0, 1}));
}

TEST_P(BothEngines, LaterStepsRunTheSteadyProgram) {
  SmallProgram p;
  p.launch(kCompute, 100).record(kCompute, 0).host_wait(0);
  p.program.programs[2] = p.program.programs[1];
  EngineOptions options = one_step(GetParam());
  options.steps = 3;
  const auto t = run({p}, options)[0];
  EXPECT_EQ(t.step_end_ns, (std::vector<std::int64_t>{0, 100, 200, 300}));
  EXPECT_EQ(t.step(3)[0].start, 200);
}

TEST(SharedEngine, TwoRanksShareOneCore) {
  // Both want one core for 100: each runs at half speed until 200.
  EngineOptions options = one_step(true);
  options.capacities[0] = 1;
  SmallProgram a(0, 2), b(1, 2);
  a.launch(kCompute, 100);
  b.launch(kCompute, 100);
  const auto t = run({a, b}, options);
  EXPECT_EQ(t[0].spans[0].end, 200);
  EXPECT_EQ(t[1].spans[0].end, 200);
}

TEST(SharedEngine, ATaskSpeedsUpWhenAnotherEnds) {
  // One core; 40 and 100. Half speed until 80 (40 done of each), then 60 alone: 140.
  EngineOptions options = one_step(true);
  options.capacities[0] = 1;
  SmallProgram p;
  p.launch(kCompute, 40).launch(kGather, 100);
  const auto t = run({p}, options)[0];
  EXPECT_EQ(t.spans[0].end, 80);
  EXPECT_EQ(t.spans[1].end, 140);
}

TEST(SharedEngine, MemoryBandwidthIsShared) {
  // 3 bytes/ns of 4 each: rates 2/3, so 100 takes 150.
  EngineOptions options = one_step(true);
  options.capacities[1] = 4;
  SmallProgram p;
  p.launch(kCompute, 100, 1, 3).launch(kGather, 100, 1, 3);
  EXPECT_EQ(run({p}, options)[0].spans[1].end, 150);
}

TEST(SharedEngine, TheHostNeedsACoreToo) {
  // Host work of 100 beside a kernel of 100 on one core: both are done at 200.
  EngineOptions options = one_step(true);
  options.capacities[0] = 1;
  options.host.uses_core = true;
  SmallProgram p;
  p.launch(kCompute, 100).host_compute(100);
  const auto t = run({p}, options)[0];
  EXPECT_EQ(t.spans[0].end, 200);
  EXPECT_EQ(t.spans[1].end, 200);
}

std::int64_t makespan(const std::vector<RankTimeline>& timelines) {
  std::int64_t last = 0;
  for (const auto& t : timelines) {
    for (const Span& span : t.spans) last = std::max(last, span.end);
  }
  return last;
}

RC_GTEST_PROP(Engines, AgreeWhereNothingIsShared, ()) {
  const RandomRanks ranks(random_script());
  auto options = one_step(false);
  options.host = random_host_costs();
  const auto in_order = simulate(ranks.simulated(), options);
  options.shares = true;
  const auto shared = simulate(ranks.simulated(), options);
  for (std::size_t r = 0; r < in_order.size(); ++r) {
    RC_ASSERT(in_order[r].step_end_ns == shared[r].step_end_ns);
    for (std::size_t i = 0; i < in_order[r].spans.size(); ++i) {
      RC_ASSERT(in_order[r].spans[i].issue == shared[r].spans[i].issue);
      RC_ASSERT(in_order[r].spans[i].start == shared[r].spans[i].start);
      RC_ASSERT(in_order[r].spans[i].end == shared[r].spans[i].end);
    }
  }
}

RC_GTEST_PROP(Engines, WorkIsConserved, ()) {
  // On c cores nothing ends before all work divided by c, nor before any stream's own work.
  const auto script = random_script();
  std::vector<SmallProgram> programs{random_program(0, 2, script), random_program(1, 2, script)};
  auto options = one_step(true);
  options.capacities[0] = *rc::gen::inRange(1, 4);
  const auto timelines = run(programs, options);
  double total = 0;
  for (SmallProgram& p : programs) {
    std::array<std::int64_t, static_cast<std::size_t>(kStreams)> lanes{};
    for (const Instruction& i : p.program.programs[1].instructions) {
      if (!runs_on_stream(i.kind)) continue;
      const auto ns = p.cost(i).ns;
      lanes[static_cast<std::size_t>(i.stream)] += ns;
      total += static_cast<double>(ns);
    }
    for (const auto work : lanes) RC_ASSERT(makespan(timelines) >= work);
  }
  RC_ASSERT(static_cast<double>(makespan(timelines)) >= total / options.capacities[0] - 1);
  options.capacities[0] = 0;
  RC_ASSERT(makespan(run(programs, options)) <= makespan(timelines) + 1);
}

// The latency of an event is paid only by a stream or host that waits for it. With more work of its own it
// can get there after the event and save the latency: a stream at most the gap between two tasks here, a
// host nothing.
RC_GTEST_PROP(Engines, MoreWorkNeverEndsSoonerInOrder, ()) {
  auto script = random_script();
  RC_PRE(!script.empty());
  auto options = one_step(false);
  options.host = random_host_costs();
  options.host.event_latency_ns =
      std::min(options.host.event_latency_ns, options.host.stream_gap_ns);
  options.host.wait_latency_ns = 0;
  const auto before = makespan(run({random_program(0, 1, script)}, options));
  const auto which = *rc::gen::inRange<std::size_t>(0, script.size());
  auto longer = random_program(0, 1, script);
  RC_PRE(!longer.costs.empty());
  const auto key = static_cast<CostKeyId>(which % longer.program.cost_keys.size());
  for (const Instruction& i : longer.program.programs[1].instructions) {
    if (i.cost_key == key) longer.cost(i).ns += 100;
  }
  RC_ASSERT(makespan(run({longer}, options)) >= before);
}

}  // namespace
}  // namespace foreshard::simulator
