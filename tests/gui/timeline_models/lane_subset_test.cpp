// Some of the events: exactly they are drawn, at every zoom, and their moments are told.
#include "gui/models/timeline/lane_subset.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "gui/models/timeline/highlights.hpp"
#include "tests/gui/timeline_models/random_events.hpp"

namespace foreshard::gui {
namespace {

std::vector<EventIndex> every(EventIndex nth, std::size_t count) {
  std::vector<EventIndex> events;
  for (EventIndex event = 0; event < static_cast<EventIndex>(count); event += nth) {
    events.push_back(event);
  }
  return events;
}

TEST(LaneSubset, HasItsEventsInTheRowsTheyAreIn) {
  const auto lanes = std::make_shared<const LaneSet>(tests::random_events(2, 200, 21));
  const std::size_t count = lanes->trace().events.size();
  const auto chosen = every(7, count);
  const LaneSubset subset(lanes, chosen, ColourBy::phase);
  std::set<EventIndex> seen;
  for (std::size_t row = 0; row < lanes->rows().size(); ++row) {
    for (std::size_t item = 0; item < subset.row(row).size(); ++item) {
      const EventIndex event = subset.row(row).event(item);
      EXPECT_TRUE(seen.insert(event).second);
      EXPECT_EQ(lanes->place(event).row, row);
    }
  }
  EXPECT_EQ(std::vector<EventIndex>(seen.begin(), seen.end()), chosen);
  for (EventIndex event = 0; event < static_cast<EventIndex>(count); ++event) {
    EXPECT_EQ(subset.contains(event), event % 7 == 0);
  }
}

TEST(LaneSubset, EveryEventOfItShowsAtEveryZoomAndNothingElse) {
  const auto lanes = std::make_shared<const LaneSet>(tests::random_events(1, 300, 22));
  const auto& events = lanes->trace().events;
  const LaneSubset subset(lanes, every(11, events.size()), ColourBy::operators);
  for (const double scale : {1.0, 40.0, 2500.0, 1e6}) {
    for (std::size_t row = 0; row < lanes->rows().size(); ++row) {
      const Row& some = subset.row(row);
      if (some.size() == 0) continue;
      const traces::Interval window{
          some.span(0).start_ns, some.span(0).start_ns + static_cast<std::int64_t>(4000 * scale)};
      const RowShapes found = subset.shapes(row, window, scale);
      for (std::size_t item = 0; item < some.size(); ++item) {
        const traces::Interval span = some.span(item);
        if (span.start_ns >= window.end_ns) break;
        const bool is_box = std::any_of(found.boxes.begin(), found.boxes.end(),
                                        [&](const BoxShape& box) { return box.item == item; });
        const auto reach = static_cast<std::int64_t>(4 * scale);
        const bool is_in_column =
            std::any_of(found.columns.begin(), found.columns.end(), [&](const ColumnShape& column) {
              return column.cell.start_ns - reach <= span.start_ns &&
                     span.start_ns < column.cell.end_ns + reach;
            });
        EXPECT_TRUE(is_box || is_in_column) << "row " << row << " item " << item << " " << scale;
      }
      // Every column has one of the subset's events within it.
      for (const ColumnShape& column : found.columns) {
        bool has_event = false;
        for (std::size_t item = 0; item < some.size(); ++item) {
          const traces::Interval span = some.span(item);
          has_event =
              has_event || (span.start_ns < column.cell.end_ns &&
                            std::max(span.end_ns, span.start_ns + 1) > column.cell.start_ns);
        }
        EXPECT_TRUE(has_event);
      }
    }
  }
}

TEST(LaneSubset, TellsMomentsInOrderAndNoMoreThanAreWanted) {
  const auto lanes = std::make_shared<const LaneSet>(tests::random_events(2, 4000, 23));
  const auto& events = lanes->trace().events;
  const LaneSubset some(lanes, every(1000, events.size()), ColourBy::phase);
  std::set<std::int64_t> starts;
  for (const EventIndex event : every(1000, events.size())) {
    starts.insert(events[static_cast<std::size_t>(event)].start_ns);
  }
  ASSERT_FALSE(some.moments().empty());
  EXPECT_EQ(some.moments().front(), *starts.begin());
  for (const std::int64_t moment : some.moments()) EXPECT_TRUE(starts.contains(moment));
  const LaneSubset all(lanes, every(1, events.size()), ColourBy::phase);
  EXPECT_LE(all.moments().size(), std::size_t{LaneSubset::kMoments});
  EXPECT_TRUE(std::is_sorted(all.moments().begin(), all.moments().end()));
  EXPECT_TRUE(LaneSubset(lanes, {}, ColourBy::phase).moments().empty());
}

TEST(Highlights, TheNewestHitsWinAndNoneClearsThem) {
  const auto trace = tests::random_events(1, 200, 24);
  const auto lanes = std::make_shared<const LaneSet>(trace);
  const auto hits = [&](const char* text) {
    const std::atomic<bool> is_cancelled = false;
    return std::make_shared<const Hits>(*trace, parse_query(QString::fromLatin1(text)),
                                        is_cancelled);
  };
  Highlights highlights;
  const auto wait = [&] {
    while (highlights.is_busy()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  };
  highlights.show_hits(lanes, hits("matmul"), ColourBy::phase);
  const auto wanted = hits("attention");
  highlights.show_hits(lanes, wanted, ColourBy::phase);
  wait();
  ASSERT_NE(highlights.hits_of(lanes), nullptr);
  for (EventIndex event = 0; event < static_cast<EventIndex>(trace->events.size()); ++event) {
    EXPECT_EQ(highlights.hits_of(lanes)->contains(event), wanted->contains(event));
  }
  highlights.show_hits(nullptr, nullptr, ColourBy::phase);
  EXPECT_EQ(highlights.hits_of(lanes), nullptr);

  const auto analysis = std::make_shared<const profiler::Analysis>(profiler::analyse(*trace));
  highlights.show_paths({{lanes, analysis}});
  wait();
  ASSERT_NE(highlights.path_of(lanes), nullptr);
  for (const EventIndex event : analysis->path.events) {
    EXPECT_TRUE(highlights.path_of(lanes)->contains(event));
  }
  highlights.show_paths({});
  EXPECT_EQ(highlights.path_of(lanes), nullptr);
}

}  // namespace
}  // namespace foreshard::gui
