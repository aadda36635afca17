// Curves against a naive replay of the same events.
#include "gui/models/memory/memory_curve.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "profiler/analysis/analysis.hpp"
#include "tests/gui/memory/random_memory.hpp"

namespace foreshard::gui {
namespace {

using traces::MemoryAction;

// Levels after each event, by the book.
struct NaiveLevels {
  std::map<std::string, std::int64_t> by_category;
  std::int64_t allocated = 0, reserved = 0;
};

std::vector<NaiveLevels> replay_naively(const traces::Trace& trace) {
  std::vector<NaiveLevels> all;
  NaiveLevels now;
  std::map<std::int64_t, traces::MemoryEvent> live;
  for (const auto& event : trace.memory) {
    const auto change = [&](const traces::MemoryEvent& block, int sign) {
      now.allocated += sign * block.bytes;
      now.by_category[trace.strings[block.category]] += sign * block.bytes;
    };
    if (event.action == MemoryAction::alloc) change(live[event.address] = event, 1);
    if (event.action == MemoryAction::free_requested) change(live.at(event.address), -1);
    if (event.action == MemoryAction::segment_alloc) now.reserved += event.bytes;
    all.push_back(now);
  }
  return all;
}

class RandomCurve : public testing::TestWithParam<std::uint32_t> {
 protected:
  RandomCurve() : trace_(tests::random_memory(3000, GetParam())), curve_(trace_, 0) {}
  traces::Trace trace_;
  MemoryCurve curve_;
};

TEST_P(RandomCurve, LevelsAreThoseOfANaiveReplay) {
  const auto naive = replay_naively(trace_);
  ASSERT_GT(curve_.size(), 1000u);
  for (std::size_t sample = 0; sample < curve_.size(); ++sample) {
    const NaiveLevels& expected = naive[curve_.events(sample) - 1];
    ASSERT_EQ(curve_.allocated(sample), expected.allocated);
    ASSERT_EQ(curve_.reserved(sample), expected.reserved);
    const auto levels = curve_.bytes_by_layer(sample);
    for (std::size_t layer = 0; layer < levels.size(); ++layer) {
      const auto found = expected.by_category.find(curve_.layers()[layer].key);
      ASSERT_EQ(levels[layer], found == expected.by_category.end() ? 0 : found->second);
    }
  }
}

TEST_P(RandomCurve, ThePeakIsTheAnalysisAndOfEveryClock) {
  const auto peak = profiler::analyse(trace_).ranks.at(0).peak;
  EXPECT_EQ(curve_.allocated(curve_.peak()), peak.allocated_bytes);
  EXPECT_EQ(curve_.peak_reserved(), peak.reserved_bytes);
  for (const auto clock :
       {MemoryClock::device_time, MemoryClock::host_time, MemoryClock::event_order}) {
    ASSERT_TRUE(curve_.has(clock));
    const auto bounds = curve_.bounds(clock);
    const auto all = curve_.columns(clock, std::vector{bounds.start_ns, bounds.end_ns + 1});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all.allocated(0), peak.allocated_bytes);
    EXPECT_EQ(all.reserved[0], peak.reserved_bytes);
    EXPECT_EQ(all.samples[0], curve_.peak());
  }
}

TEST_P(RandomCurve, ColumnsShowTheHighestMomentWithinThem) {
  std::mt19937 random(GetParam());
  for (const auto clock :
       {MemoryClock::device_time, MemoryClock::host_time, MemoryClock::event_order}) {
    const auto bounds = curve_.bounds(clock);
    for (int round = 0; round < 30; ++round) {
      std::uniform_int_distribution<std::int64_t> somewhere(bounds.start_ns - 50,
                                                            bounds.end_ns + 50);
      std::vector<std::int64_t> edges(40);
      for (auto& edge : edges) edge = somewhere(random);
      std::sort(edges.begin(), edges.end());
      const MemoryColumns columns = curve_.columns(clock, edges);
      for (std::size_t n = 0; n < columns.size(); ++n) {
        // In force within [from, to): until the next one, and for at least an instant.
        std::int64_t highest = INT64_MIN, reserved = 0;
        for (std::size_t s = 0; s < curve_.size(); ++s) {
          const std::int64_t from = curve_.position(clock, s);
          const std::int64_t until =
              s + 1 < curve_.size() ? curve_.position(clock, s + 1) : INT64_MAX;
          const bool begins_within = from >= edges[n] && from < edges[n + 1];
          const bool lasts_into = from < edges[n] && until > edges[n];
          if (edges[n] == edges[n + 1] ? !lasts_into : !begins_within && !lasts_into) continue;
          highest = std::max(highest, curve_.allocated(s));
          reserved = std::max(reserved, curve_.reserved(s));
        }
        if (edges[n] == edges[n + 1]) continue;
        if (highest == INT64_MIN) {
          EXPECT_EQ(columns.samples[n], MemoryColumns::kNothing);
          continue;
        }
        ASSERT_EQ(columns.allocated(n), highest) << n;
        ASSERT_EQ(columns.reserved[n], reserved) << n;
      }
    }
  }
}

TEST_P(RandomCurve, PositionsNeverDecreaseAndAreFound) {
  for (const auto clock :
       {MemoryClock::device_time, MemoryClock::host_time, MemoryClock::event_order}) {
    for (std::size_t s = 1; s < curve_.size(); ++s) {
      ASSERT_LE(curve_.position(clock, s - 1), curve_.position(clock, s));
    }
    const auto bounds = curve_.bounds(clock);
    EXPECT_FALSE(curve_.sample_at(clock, bounds.start_ns - 1));
    EXPECT_EQ(curve_.sample_at(clock, bounds.end_ns), curve_.size() - 1);
    for (std::size_t s = 0; s < curve_.size(); s += 97) {
      const auto found = curve_.sample_at(clock, curve_.position(clock, s));
      ASSERT_TRUE(found);
      EXPECT_GE(*found, s);
      EXPECT_EQ(curve_.position(clock, *found), curve_.position(clock, s));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCurve, testing::Values(1u, 2u, 3u));

TEST(DeviceTimes, AnAllocationStandsWhereTheNextKernelStarts) {
  traces::Trace trace;
  trace.lanes = {{0, true, trace.strings.intern("compute")}};
  for (const int n : {10, 20}) {
    traces::Event kernel;
    kernel.kind = traces::EventKind::compute;
    kernel.step = 1;
    kernel.instruction = n;
    kernel.start_ns = 1000 + n;
    kernel.end_ns = 1005 + n;
    trace.events.push_back(kernel);
  }
  for (const int n : {5, 10, 11, 21, 3}) {
    traces::MemoryEvent event;
    event.step = 1;
    event.instruction = n;
    event.time_ns = n;
    trace.memory.push_back(event);
  }
  // The last one is out of order: it waits for those before it. What follows the last kernel stands
  // at its end.
  const HeldValues times = device_times(trace, trace.memory);
  ASSERT_EQ(times.size(), 5u);
  const std::int64_t expected[] = {1010, 1010, 1020, 1025, 1025};
  for (std::size_t n = 0; n < times.size(); ++n) EXPECT_EQ(times[n], expected[n]) << n;
  trace.memory.update_all([](traces::MemoryEvent& event) { event.instruction = -1; });
  EXPECT_EQ(device_times(trace, trace.memory).size(), 0u);
}

// Blocks without an address, blocks that replace another, frees of what is not there, and the host's.
TEST_P(RandomCurve, LevelsOfDamagedRecordingsAreThoseOfANaiveReplay) {
  traces::Trace trace;
  std::mt19937 random(GetParam());
  const traces::StringId categories[] = {trace.strings.intern("activations"),
                                         trace.strings.intern("gradients"),
                                         trace.strings.intern("parameters")};
  std::vector<std::map<traces::StringId, std::int64_t>> expected;
  std::map<traces::StringId, std::int64_t> now;
  std::map<std::int64_t, traces::MemoryEvent> live;
  for (int n = 0; n < 1000; ++n) {
    traces::MemoryEvent event;
    event.time_ns = n;
    event.address = static_cast<std::int64_t>(random() % 8);
    event.bytes = 1 + static_cast<std::int64_t>(random() % 5);
    event.category = categories[random() % 3];
    event.on_host = random() % 5 == 0;
    event.action = static_cast<MemoryAction>(random() % 3);
    trace.memory.push_back(event);
    const bool is_alloc = event.action == MemoryAction::alloc;
    if (!event.on_host && event.action != MemoryAction::free_completed) {
      const auto block = live.find(event.address);
      const bool is_there = event.address != 0 && block != live.end();
      if (is_there) now[block->second.category] -= block->second.bytes;
      if (is_there) live.erase(block);
      if (is_alloc) now[event.category] += event.bytes;
      if (is_alloc && event.address != 0) live[event.address] = event;
      if (!is_alloc && event.address == 0) now[event.category] -= event.bytes;
    }
    expected.push_back(now);
  }
  const MemoryCurve curve(trace, 0);
  ASSERT_EQ(curve.size(), 1000u);
  for (std::size_t sample = 0; sample < curve.size(); ++sample) {
    const auto levels = curve.bytes_by_layer(sample);
    std::int64_t sum = 0;
    for (std::size_t layer = 0; layer < levels.size(); ++layer) {
      const auto id = trace.strings.intern(curve.layers()[layer].key);
      ASSERT_EQ(levels[layer], expected[sample][id]) << sample;
      sum += levels[layer];
    }
    ASSERT_EQ(curve.allocated(sample), sum);
  }
}

TEST(MemoryCurve, OfATraceWithoutMemoryIsEmpty) {
  const traces::Trace trace;
  const MemoryCurve curve(trace, 0);
  EXPECT_EQ(curve.size(), 0u);
  const auto columns = curve.columns(MemoryClock::host_time, std::vector<std::int64_t>{0, 10, 20});
  EXPECT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns.samples[0], MemoryColumns::kNothing);
}

TEST(HighestOf, IsTheFirstHighestOfAnyStretch) {
  std::mt19937 random(7);
  std::vector<std::int64_t> values(5000);
  for (auto& value : values) value = std::uniform_int_distribution<int>(0, 99)(random);
  const HighestOf highest(values);
  for (int n = 0; n < 2000; ++n) {
    std::size_t a = random() % values.size(), b = random() % values.size();
    if (a > b) std::swap(a, b);
    const auto begin = values.begin();
    const auto expected = std::max_element(begin + static_cast<std::ptrdiff_t>(a),
                                           begin + static_cast<std::ptrdiff_t>(b) + 1);
    EXPECT_EQ(highest.find(values, a, b + 1), static_cast<std::size_t>(expected - begin));
  }
}

}  // namespace
}  // namespace foreshard::gui
