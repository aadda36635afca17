// Means and highest values of any stretch are those of every nanosecond of it, and a window shows of a
// moment what any other window shows of it.
#include "gui/models/timeline/counter_levels.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "gui/models/timeline/lane_set.hpp"
#include "gui/models/timeline/range_statistics.hpp"

namespace foreshard::gui {
namespace {

using traces::Interval;

constexpr std::int64_t kEnd = 3000;

int below(int n, std::mt19937& random) {
  return std::uniform_int_distribution(0, n - 1)(random);
}

traces::Counter random_counter(std::mt19937& random, std::int64_t begin) {
  traces::Counter counter;
  for (std::int64_t ns = begin; ns < kEnd - 50; ns += 1 + below(9, random))
    counter.samples.push_back({ns, static_cast<double>(below(1000, random)) / 8 - 10});
  return counter;
}

// Of each nanosecond from the first sample on.
std::vector<double> every_value(const traces::Counter& counter) {
  std::vector<double> values;
  for (std::size_t n = 0; n < counter.samples.size(); ++n) {
    const std::int64_t end = n + 1 < counter.samples.size() ? counter.samples[n + 1].time_ns : kEnd;
    values.resize(static_cast<std::size_t>(end - counter.samples[0].time_ns),
                  counter.samples[n].value);
  }
  return values;
}

void expect_values(const std::vector<double>& every, std::int64_t begin, Interval stretch,
                   const std::optional<CounterLevels::Values>& found) {
  double sum = 0, highest = -1e300;
  std::int64_t held = 0;
  for (std::int64_t ns = std::max(stretch.start_ns, begin); ns < std::min(stretch.end_ns, kEnd);
       ++ns) {
    const double value = every[static_cast<std::size_t>(ns - begin)];
    sum += value;
    highest = std::max(highest, value);
    ++held;
  }
  ASSERT_EQ(found.has_value(), held > 0);
  if (!found) return;
  EXPECT_NEAR(found->mean, sum / static_cast<double>(held), 1e-9);
  EXPECT_EQ(found->highest, highest);
}

TEST(CounterLevels, AreThoseOfEveryNanosecond) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const std::int64_t begin = 200;
    const traces::Counter counter = random_counter(random, begin);
    const CounterLevels levels(counter, kEnd, 0);
    const std::vector<double> every = every_value(counter);
    for (int n = 0; n < 200; ++n) {
      const std::int64_t start = below(kEnd, random);
      const Interval stretch{start, start + 1 + below(700, random)};
      expect_values(every, begin, stretch, levels.within(stretch));
    }
    for (std::int64_t ns = 0; ns <= kEnd; ++ns) {
      const auto sample = levels.sample_at(ns);
      ASSERT_EQ(sample.has_value(), ns >= begin && ns < kEnd);
      if (!sample) continue;
      EXPECT_EQ(counter.samples[*sample].value, every[static_cast<std::size_t>(ns - begin)]);
      EXPECT_LE(levels.span(*sample).start_ns, ns);
      EXPECT_GT(levels.span(*sample).end_ns, ns);
    }
    EXPECT_EQ(levels.share_of_height(*std::ranges::min_element(every)), 0);
    EXPECT_EQ(levels.share_of_height(*std::ranges::max_element(every)), 1);
  }
}

TEST(CounterLevels, ColumnsAreTheSameInEveryWindow) {
  std::mt19937 random(7);
  const traces::Counter counter = random_counter(random, -30);
  const CounterLevels levels(counter, kEnd, 0);
  const std::vector<double> every = every_value(counter);
  for (const double scale : {0.2, 1.0, 13.0, 400.0}) {
    const auto all = levels.columns({-500, 5000}, scale);
    ASSERT_FALSE(all.empty());
    EXPECT_LE(all.front().cell.start_ns, -30);
    EXPECT_GE(all.back().cell.end_ns, kEnd);
    for (std::size_t n = 0; n < all.size(); ++n) {
      EXPECT_GE(static_cast<double>(all[n].cell.end_ns - all[n].cell.start_ns),
                std::max(2 * scale, 1.0));
      if (n > 0) {
        EXPECT_EQ(all[n].cell.start_ns, all[n - 1].cell.end_ns);
      }
      expect_values(every, -30, all[n].cell, all[n].values);
    }
    for (const auto& column : levels.columns({777, 1444}, scale)) {
      const auto same = std::ranges::find(all, column.cell, &CounterLevels::Column::cell);
      ASSERT_NE(same, all.end());
      EXPECT_EQ(same->values.mean, column.values.mean);
    }
  }
}

traces::Trace sampled_run() {
  traces::Trace trace;
  for (std::int32_t rank : {0, 1}) {
    trace.lanes.push_back({rank, true, trace.strings.intern("compute")});
    traces::Event kernel;
    kernel.lane = rank;
    kernel.kind = traces::EventKind::compute;
    kernel.end_ns = 1000;
    trace.events.push_back(kernel);
    trace.counters.push_back({rank,
                              trace.strings.intern("SMs Active"),
                              trace.strings.intern("%"),
                              {{0, 20.0 * (1 + rank)}, {500, 60}}});
    trace.counters.push_back({rank,
                              trace.strings.intern("Clock"),
                              trace.strings.intern("MHz"),
                              {{100, 1200.0 + 300 * rank}}});
  }
  return trace;
}

TEST(CounterLevels, EachCounterIsARowOfItsRankThatAllRanksCanBeComparedBy) {
  const LaneSet lanes(std::make_shared<const traces::Trace>(sampled_run()));
  int counters = 0;
  for (std::size_t n = 0; n < lanes.rows().size(); ++n) {
    const Row& row = lanes.rows()[n];
    if (row.kind != RowKind::counter) continue;
    ++counters;
    EXPECT_EQ(lanes.groups()[lanes.group_of(n)].ranks.front(), row.rank);
    EXPECT_EQ(row.counter()->top(), row.title == "Clock" ? 1500 : 100);
    EXPECT_EQ(row.size(), 0u);
  }
  EXPECT_EQ(counters, 4);
}

TEST(CounterLevels, ARangeTellsMeanAndHighest) {
  const LaneSet lanes(std::make_shared<const traces::Trace>(sampled_run()));
  const RangeStatistics found = range_statistics(lanes, 1, {250, 750});
  ASSERT_EQ(found.counters.size(), 2u);
  EXPECT_EQ(found.counters[0].name, QStringLiteral("SMs Active"));
  EXPECT_EQ(found.counters[0].mean, QStringLiteral("50 %"));
  EXPECT_EQ(found.counters[0].highest, QStringLiteral("60 %"));
  EXPECT_EQ(found.counters[1].mean, QStringLiteral("1,500 MHz"));
  EXPECT_TRUE(found.text(lanes.trace()).contains(QStringLiteral("Clock\t1,500 MHz\t1,500 MHz")));
  EXPECT_TRUE(range_statistics(lanes, 0, {20, 60}).counters.size() == 1);  // before the clock's
}

}  // namespace
}  // namespace foreshard::gui
