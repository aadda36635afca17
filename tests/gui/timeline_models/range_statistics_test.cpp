// What a range holds, beside a look at every nanosecond of it.
#include "gui/models/timeline/range_statistics.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace foreshard::gui
