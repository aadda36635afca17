// What a range holds, beside a look at every nanosecond of it.
#include "gui/models/timeline/range_statistics.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "gui/models/timeline/bus_bandwidth.hpp"
#include "tests/gui/timeline_models/random_events.hpp"

namespace foreshard::gui {
namespace {

TEST(RangeStatistics, AreThoseOfEveryNanosecond) {
  for (std::uint32_t seed = 1; seed < 5; ++seed) {
    const LaneSet lanes(tests::random_events(2, 60, seed));
    const traces::Trace& trace = lanes.trace();
    std::int64_t end = 0;
    for (const traces::Event& event : trace.events) end = std::max(end, event.end_ns);
    std::vector<bool> computes(static_cast<std::size_t>(end)), communicates(computes.size());
    for (const traces::Event& event : trace.events) {
      if (trace.lanes[static_cast<std::size_t>(event.lane)].rank != 1) continue;
      auto* busy = event.kind == traces::EventKind::compute         ? &computes
                   : event.kind == traces::EventKind::communication ? &communicates
                                                                    : nullptr;
      for (auto ns = event.start_ns; busy != nullptr && ns < event.end_ns; ++ns) {
        (*busy)[static_cast<std::size_t>(ns)] = true;
      }
    }
    for (const auto& [from, to] : {std::pair(0.0, 1.0), std::pair(0.21, 0.22), std::pair(0.33, 0.8),
                                   std::pair(0.9, 0.901)}) {
      const traces::Interval range{static_cast<std::int64_t>(from * static_cast<double>(end)),
                                   static_cast<std::int64_t>(to * static_cast<double>(end))};
      std::int64_t compute = 0, communication = 0, overlap = 0, idle = 0;
      for (auto n = range.start_ns; n < range.end_ns; ++n) {
        const bool a = computes[static_cast<std::size_t>(n)];
        const bool b = communicates[static_cast<std::size_t>(n)];
        compute += a;
        communication += b;
        overlap += a && b;
        idle += !a && !b;
      }
      const RangeStatistics found = range_statistics(lanes, 1, range);
      EXPECT_EQ(found.time.compute_ns, compute);
      EXPECT_EQ(found.time.communication_ns, communication);
      EXPECT_EQ(found.time.exposed_communication_ns, communication - overlap);
      EXPECT_EQ(found.time.idle_ns, idle);
      EXPECT_EQ(found.time.span_ns, range.end_ns - range.start_ns);
      std::map<std::pair<traces::StringId, traces::StringId>, std::int64_t> by_operator;
      for (const traces::Event& event : trace.events) {
        if (trace.lanes[static_cast<std::size_t>(event.lane)].rank != 1) continue;
        if (!traces::is_device_work(event.kind)) continue;
        by_operator[{event.name, event.phase}] += std::max<std::int64_t>(
            0, std::min(event.end_ns, range.end_ns) - std::max(event.start_ns, range.start_ns));
      }
      std::int64_t before = range.end_ns;
      for (const RangeOperator& one : found.operators) {
        EXPECT_EQ(one.ns, (by_operator[{one.name, one.phase}]));
        EXPECT_LE(one.ns, std::max(before, one.ns));
        before = one.ns;
      }
    }
  }
}

TEST(RangeStatistics, OfNothingSaySo) {
  const LaneSet lanes(tests::random_events(1, 20, 1));
  const RangeStatistics found = range_statistics(lanes, 0, {-2000, -1000});
  EXPECT_EQ(found.time.device_events, 0);
  EXPECT_EQ(found.time.idle_ns, 1000);
  EXPECT_FALSE(found.sentence().isEmpty());
}

TEST(BusBandwidth, CountsWhatEachRanksLinkCarries) {
  traces::Trace trace;
  traces::Event event;
  const auto bytes_of = [&](const char* key) {
    event.cost_key = trace.strings.intern(key);
    return bus_bytes(trace, event);
  };
  // Of 8 ranks each receives the shards of 7 others; a sum for all goes round twice.
  EXPECT_DOUBLE_EQ(bytes_of("all_gather bf16 436224000 8").value(), 436'224'000.0 * 7 / 8);
  EXPECT_DOUBLE_EQ(bytes_of("reduce_scatter fp32 800 4").value(), 600);
  EXPECT_DOUBLE_EQ(bytes_of("all_reduce fp64 264 8").value(), 462);
  // A broadcast and a transfer go over it whole.
  EXPECT_DOUBLE_EQ(bytes_of("broadcast fp32 800 4").value(), 800);
  EXPECT_DOUBLE_EQ(bytes_of("transfer fp32 800 2").value(), 800);
  EXPECT_DOUBLE_EQ(bytes_of("all_to_all fp32 800 4").value(), 600);
  EXPECT_FALSE(bytes_of("all_gather bf16 1000 1").has_value());
  EXPECT_FALSE(bytes_of("matmul bf16 8 8 8 0").has_value());
  EXPECT_FALSE(bytes_of("").has_value());
}

TEST(RangeStatistics, CountTheBytesOfACollectiveWithinTheRange) {
  auto trace = std::make_shared<traces::Trace>();
  trace->lanes = {{0, true, trace->strings.intern("all_gather")}};
  traces::Event event;
  event.kind = traces::EventKind::communication;
  event.start_ns = 1000;
  event.end_ns = 3000;
  event.name = trace->strings.intern("all_gather");
  event.cost_key = trace->strings.intern("all_gather bf16 800 4");
  event.bytes = 800;
  trace->events.push_back(event);
  const LaneSet lanes(trace);
  const RangeStatistics half = range_statistics(lanes, 0, {0, 2000});
  ASSERT_EQ(half.operators.size(), 1u);
  EXPECT_EQ(half.operators[0].ns, 1000);
  EXPECT_EQ(half.operators[0].bytes, 300);
}

}  // namespace
}  // namespace foreshard::gui
