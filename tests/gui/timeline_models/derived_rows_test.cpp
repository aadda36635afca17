// Derived rows beside the analysis and beside a look at every moment.
#include "gui/models/timeline/derived_rows.hpp"

#include <gtest/gtest.h>

#include "profiler/analysis/analysis.hpp"
#include "tests/gui/timeline_models/random_events.hpp"

namespace foreshard::gui {
namespace {

class DerivedRowsTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(DerivedRowsTest, ExposedSpansAddUpToTheAnalysis) {
  const auto trace = tests::random_events(2, 300, GetParam());
  const profiler::Analysis analysis = profiler::analyse(*trace);
  for (const profiler::RankAnalysis& rank : analysis.ranks) {
    std::int64_t exposed = 0;
    for (const DerivedSpan& span : derive_rows(*trace, rank.rank).exposed) {
      exposed += span.span.end_ns - span.span.start_ns;
    }
    EXPECT_EQ(exposed, rank.time.exposed_communication_ns);
  }
}

TEST_P(DerivedRowsTest, AtAKernelsStartTheRowsHaveItsPhaseAndUnit) {
  const auto trace = tests::random_events(1, 300, GetParam());
  const DerivedRows rows = derive_rows(*trace, 0);
  const auto at = [](const std::vector<DerivedSpan>& spans, std::int64_t ns) {
    for (const DerivedSpan& span : spans) {
      if (span.span.start_ns <= ns && ns < span.span.end_ns) return span.name;
    }
    return traces::StringId{-1};
  };
  for (const traces::Event& event : trace->events) {
    if (event.kind != traces::EventKind::compute || event.start_ns == event.end_ns) continue;
    EXPECT_EQ(at(rows.phases, event.start_ns), event.phase);
    EXPECT_EQ(at(rows.units, event.start_ns), event.unit);
  }
}

// The copy into the next unit's all-gather runs while a unit computes.
TEST(DerivedRows, ACopyOnAnotherStreamDoesNotCutAUnitsRun) {
  traces::Trace trace;
  trace.lanes = {{0, true, trace.strings.intern("compute")},
                 {0, true, trace.strings.intern("all_gather_copy_in")}};
  const auto add = [&](std::int32_t lane, const char* unit, std::int64_t start, std::int64_t end) {
    traces::Event event;
    event.lane = lane;
    event.kind = traces::EventKind::compute;
    event.unit = trace.strings.intern(unit);
    event.phase = trace.strings.intern("forward");
    event.start_ns = start;
    event.end_ns = end;
    trace.events.push_back(event);
  };
  add(0, "layers.0", 0, 100);
  add(0, "layers.0", 100, 200);
  add(0, "layers.1", 200, 300);
  add(1, "layers.1", 50, 60);
  const DerivedRows rows = derive_rows(trace, 0);
  ASSERT_EQ(rows.units.size(), 2u);
  EXPECT_EQ(rows.units[0].span, (traces::Interval{0, 200}));
  EXPECT_EQ(rows.units[1].span, (traces::Interval{200, 300}));
}

INSTANTIATE_TEST_SUITE_P(Seeds, DerivedRowsTest, testing::Range(1u, 5u));

}  // namespace
}  // namespace foreshard::gui
