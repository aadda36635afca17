// Counters hold every value until the next, however they are put in order and cut.
#include "traces/counter.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "traces/meaning/selection.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {
namespace {

// The last in the list of those that are latest at that moment.
std::optional<double> value_at(const std::vector<CounterSample>& samples, std::int64_t ns) {
  std::optional<double> value;
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();
  for (const CounterSample& sample : samples) {
    if (sample.time_ns > ns || sample.time_ns < latest) continue;
    latest = sample.time_ns;
    value = sample.value;
  }
  return value;
}

TEST(Counters, HoldTheSameValuesInOrderAndWithoutThoseThatRepeat) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return std::uniform_int_distribution(0, n - 1)(random); };
    Counter counter;
    for (int n = below(20); n > 0; --n)
      counter.samples.push_back({below(30), static_cast<double>(below(3))});
    const Counter recorded = counter;
    sort(counter);
    EXPECT_TRUE(std::ranges::is_sorted(counter.samples, {}, &CounterSample::time_ns));
    for (std::size_t n = 1; n < counter.samples.size(); ++n)
      EXPECT_NE(counter.samples[n].value, counter.samples[n - 1].value);
    for (std::int64_t ns = -1; ns <= 31; ++ns)
      EXPECT_EQ(value_at(counter.samples, ns), value_at(recorded.samples, ns)) << seed;

    const Interval stretch{below(15), 15 + below(15)};
    const Counter whole = counter;
    cut(counter, stretch);
    for (const CounterSample& sample : counter.samples) {
      EXPECT_GE(sample.time_ns, stretch.start_ns);
      EXPECT_LE(sample.time_ns, stretch.end_ns);
    }
    for (std::int64_t ns = stretch.start_ns; ns <= stretch.end_ns; ++ns)
      EXPECT_EQ(value_at(counter.samples, ns), value_at(whole.samples, ns)) << seed;
  }
}

Trace trace_of(std::int32_t rank, const char* clock_origin) {
  Trace trace;
  trace.strings.intern(rank == 0 ? "other" : "further");  // texts have other numbers in each part
  trace.lanes = {{rank, true, trace.strings.intern("stream 7")}};
  for (std::int32_t step = 1; step <= 3; ++step) {
    Event kernel;
    kernel.kind = EventKind::compute;
    kernel.step = step;
    kernel.start_ns = 100 * step;
    kernel.end_ns = kernel.start_ns + 90;
    trace.events.push_back(kernel);
    trace.steps.push_back({rank, step, kernel.start_ns, kernel.end_ns, 0, 0});
  }
  trace.counters = {{rank,
                     trace.strings.intern("SMs Active"),
                     trace.strings.intern("%"),
                     {{100, 10}, {250, 60}, {330, 90}}}};
  trace.metadata = {{"clock_id", "a"}, {"clock_origin_ns", clock_origin}};
  return trace;
}

TEST(Counters, OfSeveralProcessesAreOneTraces) {
  std::vector<Trace> parts;
  parts.push_back(trace_of(1, "1000"));
  parts.push_back(trace_of(0, "1500"));
  const Trace whole = merge(std::move(parts));
  ASSERT_EQ(whole.counters.size(), 2u);
  for (const Counter& counter : whole.counters) {
    EXPECT_EQ(whole.strings[counter.name], "SMs Active");
    EXPECT_EQ(whole.strings[counter.unit], "%");
    EXPECT_EQ(counter.samples.front().time_ns, counter.rank == 0 ? 600 : 100);
  }
  EXPECT_EQ(whole.counters.front().rank, 0);
}

TEST(Counters, OfAPartOfATraceBeginWhereItDoes) {
  Selection selection;
  selection.steps = {{2, 2}};
  const auto part = part_of(trace_of(0, "0"), selection, "run.fst");
  ASSERT_TRUE(part) << part.error().text();
  ASSERT_EQ(part->counters.size(), 1u);
  // The device is done with the step before at 190.
  EXPECT_EQ(part->counters[0].samples, (std::vector<CounterSample>{{190, 10}, {250, 60}}));
}

}  // namespace
}  // namespace foreshard::traces
