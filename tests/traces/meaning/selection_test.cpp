// Parts of a trace that was drawn by hand: two ranks, steps 1 to 3 of 100 us each, the device 20 us
// behind its host, and 10 us of data loading before each step.
//
//   step s         host: loading 100(s-1) to +10, step +10 to +100; kernel +30 to +120
//   memory         rank 0 allocates 100 B at address s in step s at +20 and frees those of step s - 1
#include "traces/meaning/selection.hpp"

#include <gtest/gtest.h>

#include "traces/memory_tally.hpp"
#include "traces/meaning/steady_steps.hpp"

namespace foreshard::traces {
namespace {

Trace drawn() {
  Trace trace;
  const StringId name = trace.strings.intern("kernel");
  for (std::int32_t rank : {0, 1}) {
    trace.lanes.push_back({rank, false, trace.strings.intern("host")});
    trace.lanes.push_back({rank, true, trace.strings.intern("stream 7")});
    const std::int32_t host = 2 * rank;
    for (std::int32_t step = 1; step <= 3; ++step) {
      const std::int64_t at = 100'000 * (step - 1);
      Event loading;
      loading.start_ns = at;
      loading.end_ns = at + 10'000;
      loading.lane = host;
      loading.kind = EventKind::range;
      trace.events.push_back(loading);
      Event kernel;
      kernel.start_ns = at + 30'000;
      kernel.end_ns = at + 120'000;
      kernel.lane = host + 1;
      kernel.step = step;
      kernel.kind = EventKind::compute;
      kernel.name = name;
      kernel.bytes = 7;
      trace.events.push_back(kernel);
      trace.steps.push_back({rank, step, at + 10'000, at + 100'000, 0, 0});
      if (rank == 1) continue;
      MemoryEvent memory;
      memory.time_ns = at + 20'000;
      memory.step = step;
      memory.bytes = 100;
      memory.address = step;
      trace.memory.push_back(memory);
      if (step == 1) continue;
      memory.action = MemoryAction::free_requested;
      memory.address = step - 1;
      trace.memory.push_back(memory);
    }
  }
  trace.metadata["ranks"] = "8";
  sort(trace);
  return trace;
}

Trace part(const Selection& selection) {
  auto cut = part_of(drawn(), selection, "run.fst");
  EXPECT_TRUE(cut) << cut.error().text();
  return cut.value_or(Trace());
}

std::string refused(const Selection& selection) {
  const auto cut = part_of(drawn(), selection, "run.fst");
  return cut ? "was not refused" : cut.error().text();
}

std::vector<std::int64_t> levels(const Trace& trace) {
  MemoryTally tally;
  std::vector<std::int64_t> all;
  for (std::size_t n = 0; n < trace.memory.size(); ++n) {
    EXPECT_TRUE(tally.apply(trace.memory.pointer_to(n)));
    all.push_back(tally.levels().allocated);
  }
  return all;
}

TEST(Selection, OfNothingIsTheWhole) {
  const Trace whole = part({});
  EXPECT_EQ(whole.events.size(), 12U);
  EXPECT_FALSE(whole.metadata.contains("selection"));
}

TEST(Selection, OfARankHasItsLanesAlone) {
  const Trace one = part({.ranks = {{1, 5}}});
  ASSERT_EQ(one.lanes.size(), 2U);
  EXPECT_EQ(one.lanes[0].rank, 1);
  EXPECT_EQ(one.events.size(), 6U);
  EXPECT_EQ(one.events[0].lane, 0);
  EXPECT_EQ(one.events.back().lane, 1);
  EXPECT_EQ(one.steps.size(), 3U);
  EXPECT_TRUE(one.memory.empty());
  EXPECT_EQ(one.metadata.at("selection"), "rank 1");
  EXPECT_EQ(one.metadata.at("recorded_ranks"), "2");
}

// A step is as long alone as among the others.
TEST(Selection, OfAStepBeginsWhereTheDeviceWasDoneWithTheOneBefore) {
  const Trace one = part({.ranks = {{0, 0}}, .steps = {{2, 2}}});
  ASSERT_EQ(one.steps.size(), 1U);
  const auto steps = device_steps(one.steps, device_ends(one));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].start_ns, 120'000);
  EXPECT_EQ(steps[0].end_ns, 220'000);
  EXPECT_EQ(steady_step_time(one), 100'000);  // it lags behind its host
  // Of the loading only that before step 3 is in its time.
  ASSERT_EQ(one.events.size(), 2U);
  EXPECT_EQ(one.events[0].start_ns, 200'000);
  EXPECT_EQ(one.events[1].start_ns, 130'000);
  EXPECT_EQ(levels(one), (std::vector<std::int64_t>{100, 200, 100}));
  EXPECT_EQ(one.memory[0].time_ns, 110'000);
  EXPECT_EQ(one.memory[0].step, 2);
  EXPECT_EQ(one.metadata.at("selection"), "rank 0; step 2");
}

TEST(Selection, OfStepsApartCarriesTheMemoryAcross) {
  const Trace two = part({.ranks = {{0, 0}}, .steps = {{1, 1}, {3, 3}}});
  const auto steps = device_steps(two.steps, device_ends(two));
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].start_ns, 220'000);
  // Step 2 freed the block of step 1 and left its own.
  EXPECT_EQ(levels(two), (std::vector<std::int64_t>{100, 0, 100, 200, 100}));
}

TEST(Selection, OfAStretchCutsEventsOff) {
  const Trace stretch = part({.from_ns = 100'000, .to_ns = 200'000});
  // The kernel of step 1 that ends in it, that of step 2 that does not, and the loading.
  ASSERT_EQ(stretch.events.size(), 6U);
  const Event first = stretch.events[1], second = stretch.events[2];
  EXPECT_EQ(std::pair(first.start_ns, first.end_ns), std::pair(100'000L, 120'000L));
  EXPECT_EQ(std::pair(second.start_ns, second.end_ns), std::pair(130'000L, 200'000L));
  EXPECT_EQ(first.bytes, 0) << "a piece of a kernel moves less than the whole";
  EXPECT_TRUE(stretch.steps.empty()) << "the device was not done with step 2";
  EXPECT_EQ(levels(stretch), (std::vector<std::int64_t>{100, 200, 100}));
  EXPECT_EQ(stretch.memory[0].time_ns, 100'000);
  EXPECT_EQ(part({.from_ns = 100'000, .to_ns = 220'000}).steps.size(), 2U);
  EXPECT_EQ(stretch.metadata.at("selection"), "from 100.0 us to 200.0 us");
}

TEST(Selection, HasMemoryWhereItDoesNotChange) {
  const Trace stretch = part({.from_ns = 130'000, .to_ns = 140'000});
  EXPECT_EQ(levels(stretch), std::vector<std::int64_t>{100});
  EXPECT_EQ(stretch.memory[0].time_ns, 130'000);
}

TEST(Selection, OfWhatIsWholeIsWhole) {
  Trace cut_short = drawn();
  cut_short.complete = false;
  cut_short.complete_until_ns = 150'000;
  EXPECT_TRUE(part_of(cut_short, {.to_ns = 150'000}, "run.fst")->complete);
  EXPECT_FALSE(part_of(cut_short, {.to_ns = 160'000}, "run.fst")->complete);
}

TEST(Selection, OfNothingThatIsThereNamesWhatIs) {
  EXPECT_EQ(refused({.ranks = {{2, 7}}}),
            "run.fst: --rank: selects nothing; expected some of the recording's ranks 0 to 1");
  EXPECT_EQ(refused({.steps = {{4, 4}}}),
            "run.fst: --step: selects nothing; expected some of the recording's steps 1 to 3");
  EXPECT_EQ(refused({.from_ns = 400'000}),
            "run.fst: --from, --to: has nothing there; expected a part of the recording, which is "
            "from 0 ms to 320.0 us");
  Trace without = drawn();
  without.steps.clear();
  EXPECT_EQ(part_of(without, {.steps = {{1, 1}}}, "run.fst").error().text(),
            "run.fst: --step: selects nothing, as the recording has no steps; expected one that "
            "has");
}

}  // namespace
}  // namespace foreshard::traces
