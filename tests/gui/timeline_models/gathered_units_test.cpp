// Gathered units of a prediction: every all-gather has its span, and the most that are held at once is
// what a look at every moment finds.
#include "gui/models/timeline/gathered_units.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/gui/timeline_models/random_events.hpp"
#include "tests/gui/timeline_models/recorded_run.hpp"

namespace foreshard::gui {
namespace {

void expect_consistent(const traces::Trace& trace) {
  const GatheredUnits gathered = gathered_units(trace, 0);
  std::size_t gathers = 0, spans = 0;
  for (const traces::Event& event : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    gathers += lane.rank == 0 && lane.device && event.unit != 0 &&
               event.kind == traces::EventKind::communication &&
               (trace.strings[event.name] == "all_gather" ||
                trace.strings[event.name].find("AllGather") != std::string::npos);
  }
  std::size_t most = 0;
  std::int64_t most_bytes = 0;
  for (const GatheredUnit& unit : gathered.units) {
    spans += unit.spans.size();
    for (const GatheredSpan& span : unit.spans) {
      EXPECT_EQ(span.held.start_ns, span.gathering.start_ns);
      EXPECT_LE(span.gathering.end_ns, span.held.end_ns);
      EXPECT_LE(span.gathering.end_ns, span.used.start_ns);
      EXPECT_LE(span.used.end_ns, span.held.end_ns);
      std::size_t held = 0;
      std::int64_t bytes = 0;
      for (const GatheredUnit& other : gathered.units) {
        for (const GatheredSpan& one : other.spans) {
          const bool is_held =
              one.held.start_ns <= span.held.start_ns && span.held.start_ns < one.held.end_ns;
          held += is_held;
          bytes += is_held ? other.bytes : 0;
        }
      }
      most = std::max(most, held);
      most_bytes = std::max(most_bytes, bytes);
    }
  }
  EXPECT_EQ(spans, gathers);
  EXPECT_EQ(gathered.most, most);
  EXPECT_EQ(gathered.most_bytes, most_bytes);
}

TEST(GatheredUnits, OfARecordedRun) {
  const auto trace = tests::recorded_run();
  ASSERT_NE(trace, nullptr);
  expect_consistent(*trace);
  EXPECT_GE(gathered_units(*trace, 0).most, 1u);
}

TEST(GatheredUnits, OfWhateverComes) {
  for (std::uint32_t seed = 1; seed < 6; ++seed) {
    expect_consistent(*tests::random_events(1, 200, seed));
  }
}

}  // namespace
}  // namespace foreshard::gui
