// Rows hold every event of a trace once, and nothing in a row overlaps.
#include "gui/models/timeline/lane_set.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/gui/timeline_models/random_events.hpp"
#include "tests/traces/sample_trace.hpp"

namespace foreshard::gui {
namespace {

void expect_whole(const LaneSet& lanes) {
  std::vector<int> seen(lanes.trace().events.size());
  for (std::size_t n = 0; n < lanes.rows().size(); ++n) {
    const Row& row = lanes.rows()[n];
    ASSERT_EQ(row.size() > 0, row.counter() == nullptr);
    for (std::size_t item = 0; item < row.size(); ++item) {
      if (item > 0) {
        EXPECT_LE(row.span(item - 1).end_ns, row.span(item).start_ns) << row.title;
      }
      if (row.is_derived()) continue;
      const std::int32_t event = row.event(item);
      ++seen[static_cast<std::size_t>(event)];
      const RowPlace place = lanes.place(event);
      EXPECT_EQ(place.row, n);
      EXPECT_EQ(place.item, item);
    }
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

class LaneSetTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(LaneSetTest, EveryEventIsInOneRowAndNoneOverlapsInARow) {
  expect_whole(LaneSet(tests::random_events(2, 400, GetParam())));
}

// A step that the program named is as long as all of its kernels, which are what the stream is for.
TEST(LaneSet, RangesOfAStreamAreBelowItsKernels) {
  traces::Trace trace;
  trace.lanes = {{0, true, trace.strings.intern("stream 7")}};
  const auto add = [&](traces::EventKind kind, std::int64_t start, std::int64_t end) {
    traces::Event event;
    event.kind = kind;
    event.start_ns = start;
    event.end_ns = end;
    trace.events.push_back(event);
  };
  add(traces::EventKind::range, 0, 100);
  add(traces::EventKind::compute, 0, 40);
  add(traces::EventKind::compute, 50, 90);
  const LaneSet lanes(std::make_shared<const traces::Trace>(std::move(trace)));
  expect_whole(lanes);
  ASSERT_EQ(lanes.rows().size(), 2u);
  EXPECT_EQ(lanes.rows()[0].kind, RowKind::compute);
  EXPECT_EQ(lanes.rows()[0].size(), 2u);
  EXPECT_EQ(lanes.rows()[1].kind, RowKind::ranges);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LaneSetTest, testing::Range(1u, 5u));

TEST(LaneSet, OfASmallTraceHasARowForEachThingThatIsThere) {
  const LaneSet lanes(std::make_shared<traces::Trace>(traces::sample_trace()));
  expect_whole(lanes);
  ASSERT_EQ(lanes.groups().size(), 2u);
  EXPECT_EQ(lanes.groups()[0].title, "Rank 0");
  std::vector<RowKind> kinds;
  const RankGroup& group = lanes.groups()[0];
  for (std::size_t n = group.first; n < group.first + group.count; ++n) {
    kinds.push_back(lanes.rows()[n].kind);
  }
  EXPECT_EQ(kinds, (std::vector<RowKind>{RowKind::phase, RowKind::unit, RowKind::host,
                                         RowKind::host, RowKind::compute, RowKind::counter}));
}

TEST(LaneSet, RanksOfEqualProgramsAreOneGroup) {
  traces::Trace trace = traces::sample_trace();
  trace.metadata["rank_classes"] = "0,1,0,1,0";
  const LaneSet lanes(std::make_shared<traces::Trace>(trace));
  ASSERT_EQ(lanes.groups().size(), 2u);
  EXPECT_EQ(lanes.groups()[0].ranks, (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(lanes.groups()[1].ranks, (std::vector<int>{1, 3}));
}

TEST(LaneSet, OfAnEmptyTraceIsEmpty) {
  const LaneSet lanes(std::make_shared<traces::Trace>());
  EXPECT_TRUE(lanes.rows().empty());
  EXPECT_TRUE(lanes.groups().empty());
}

}  // namespace
}  // namespace foreshard::gui
