// Steps of a trace, read without the others; and reading that is stopped.
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/memory_before.hpp"
#include "traces/memory_tally.hpp"

namespace foreshard::traces {
namespace {

class Part : public testing::Test {
 protected:
  std::string path() const { return folder_.path("run.fst"); }

  const TemporaryFolder folder_;
};

MemoryEvent memory_event(MemoryAction action, std::int64_t address, std::int64_t bytes,
                         std::int32_t step, std::int64_t time_ns) {
  MemoryEvent event;
  event.action = action;
  event.address = address;
  event.bytes = event.requested = bytes;
  event.step = step;
  event.time_ns = time_ns;
  return event;
}

TEST_F(Part, HasTheEventsOfItsStepsAlone) {
  const Trace whole = sample_trace();
  ASSERT_TRUE(write_fst(path(), whole));
  ASSERT_EQ(fst_steps(path()).value(), (StepRange{1, 3}));
  const auto part = read_fst(path(), {.steps = StepRange{2, 3}});
  ASSERT_TRUE(part) << part.error().text();
  Trace expected = whole;
  erase_if(expected.events, [](const Event& event) { return event.step < 2; });
  std::erase_if(expected.steps, [](const Step& step) { return step.step < 2; });
  ASSERT_EQ(part->events.size(), expected.events.size());
  for (std::size_t n = 0; n < expected.events.size(); ++n) {
    EXPECT_EQ(part->events[n].start_ns, expected.events[n].start_ns);
    EXPECT_EQ(part->strings[part->events[n].name], whole.strings[expected.events[n].name]);
  }
  EXPECT_EQ(part->steps.size(), expected.steps.size());
  EXPECT_TRUE(part->complete);
  EXPECT_EQ(part->dropped, whole.dropped);
  EXPECT_EQ(part->dropped_ranges,
            (std::vector<DroppedRange>{whole.dropped_ranges.back()}));  // that of its steps
}

// At each moment of the part the levels are those of the whole.
TEST_F(Part, BeginsWithTheMemoryThatIsStillThere) {
  std::srand(7);
  Trace whole = sample_trace();
  whole.memory.clear();
  std::vector<MemoryEvent> live, segments;
  for (std::int64_t n = 0; n < 3000; ++n) {
    const auto step = static_cast<std::int32_t>(n / 1000);
    const std::int64_t time = n * 1000, any = std::rand();
    const auto add = [&](MemoryAction action, std::int64_t address, std::int64_t bytes) {
      whole.memory.push_back(memory_event(action, address, bytes, step, time));
      return whole.memory.back();
    };
    if (n % 40 == 0) segments.push_back(add(MemoryAction::segment_alloc, (n + 1) << 20, 1 << 20));
    if (n % 100 == 99) {
      const MemoryEvent& segment = segments[static_cast<std::size_t>(any) % segments.size()];
      add(MemoryAction::segment_free, segment.address, any % 2 == 0 ? segment.bytes : 4096);
    } else if (any % 3 != 0 || live.empty()) {
      live.push_back(add(MemoryAction::alloc, n % 50 == 0 ? 0 : 512 * (1 + n), 512 + any % 4096));
    } else {
      const auto block = live.begin() + any % static_cast<std::int64_t>(live.size());
      add(MemoryAction::free_requested, block->address, block->bytes);
      if (any % 5 != 0) add(MemoryAction::free_completed, block->address, block->bytes);
      live.erase(block);
    }
  }
  sort(whole);
  whole.steps = {{0, 0, 0, 999'999, 0, 0},
                 {0, 1, 1'000'000, 1'999'999, 0, 0},
                 {0, 2, 2'000'000, 2'999'999, 0, 0}};
  whole.events.clear();
  ASSERT_TRUE(write_fst(path(), whole));
  const auto part = read_fst(path(), {.steps = StepRange{1, 1}});
  ASSERT_TRUE(part) << part.error().text();
  EXPECT_LT(part->memory.size(), 2000U);

  MemoryTally of_whole, of_part;
  std::size_t next = 0;
  const auto before = [](const MemoryEvent& event) { return event.step < 1; };
  while (before(part->memory[next])) of_part.apply(part->memory.pointer_to(next++));
  for (auto at = whole.memory.begin(); at != whole.memory.end(); ++at) {
    const MemoryEvent event = *at;
    if (event.step == 2) break;
    of_whole.apply(at);
    if (before(event)) continue;
    EXPECT_EQ(part->memory[next].address, event.address);
    of_part.apply(part->memory.pointer_to(next++));
    ASSERT_EQ(of_part.levels(), of_whole.levels()) << event.time_ns;
  }
  EXPECT_EQ(next, part->memory.size());
  EXPECT_EQ(part->memory.front().time_ns, 1'000'000);
}

TEST(MemoryBefore, TakesNoMoreMemoryThanIsLeft) {
  MemoryBefore before;
  for (std::int64_t n = 0; n < 1000; ++n) {
    before.apply(memory_event(MemoryAction::alloc, 512, 512, 0, n));
    before.apply(memory_event(MemoryAction::free_requested, 512, 512, 0, n));
  }
  EXPECT_EQ(before.at(5000).size(), 2U);
  before.apply(memory_event(MemoryAction::free_completed, 512, 512, 0, 1000));
  EXPECT_TRUE(before.at(5000).empty());
}

TEST_F(Part, OfARecordingThatIsStillPacked) {
  auto writer = FstWriter::create(path(), {{"ranks", "1"}});
  ASSERT_TRUE(writer) << writer.error().text();
  const std::int32_t lane = writer->add(Lane{0, true, writer->strings().intern("compute")});
  const std::int32_t attributes = writer->add(EventAttributes{});
  for (std::int32_t step = 1; step <= 4; ++step) {
    const std::int64_t start = step * 1000;
    const PackedRecord record{start, start + 500, -1, attributes, lane, step};
    writer->append(std::span<const PackedRecord>(&record, 1));
    const Step done{0, step, start, start + 900, 0, 0};
    writer->append(std::span<const Step>(&done, 1));
  }
  ASSERT_TRUE(writer->commit(4900));
  ASSERT_EQ(fst_steps(path()).value(), (StepRange{1, 4}));
  const auto part = read_fst(path(), {.steps = StepRange{3, 3}});
  ASSERT_TRUE(part) << part.error().text();
  ASSERT_EQ(part->events.size(), 1U);
  EXPECT_EQ(part->events[0].step, 3);
}

TEST_F(Part, OfATraceWithoutStepsThereIsNone) {
  Trace trace = sample_trace();
  trace.steps.clear();
  ASSERT_TRUE(write_fst(path(), trace));
  EXPECT_EQ(fst_steps(path()).value(), std::nullopt);
}

TEST_F(Part, ReadingStopsWhereItIsAsked) {
  Trace trace = sample_trace();
  const EventList events = trace.events;
  for (int n = 0; n < 6000; ++n) {
    trace.events.append(events.begin(), events.end());
  }
  sort(trace);
  ASSERT_TRUE(write_fst(path(), trace));
  std::stop_source stop;
  std::int64_t most = 0;
  ImportOptions options;
  options.stop = stop.get_token();
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_LE(done, total);
    most = std::max(most, done);
    if (done > total / 4) stop.request_stop();
  };
  const auto read = read_fst(path(), options);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("stopped"), std::string::npos);
  EXPECT_GT(most, 0);
  EXPECT_LT(most, static_cast<std::int64_t>(trace.events.size()) / 2);
}

}  // namespace
}  // namespace foreshard::traces
