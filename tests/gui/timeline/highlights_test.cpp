// Hits of a search and the critical path as the lanes show them.
#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

class TimelineHighlights : public ShownTimeline {
 protected:
  void search(const char* text) {
    const std::atomic<bool> is_cancelled = false;
    const auto hits =
        std::make_shared<const Hits>(trace(), parse_query(QString::fromLatin1(text)), is_cancelled);
    view_.show_hits(session_.current(), hits);
    settle();
  }
  QColor colour_at(QPoint at) { return viewport()->grab().toImage().pixelColor(at); }
  QPoint upper_edge_of(std::int32_t event) { return {centre_of(event).x(), row_top(event)}; }
  QPoint lower_edge_of(std::int32_t event) { return {centre_of(event).x(), row_bottom(event) - 1}; }
  // Off the text in the box's middle.
  QPoint inside(std::int32_t event) {
    return canvas().event_box({0, event}).toRect().topLeft() + QPoint(3, 4);
  }

 private:
  QRect row_of(std::int32_t event) {
    const auto place = canvas().scene().place({0, event});
    return canvas().row_box(canvas().scene().rows()[place->row]).toRect();
  }
  int row_top(std::int32_t event) { return row_of(event).top(); }
  int row_bottom(std::int32_t event) { return row_of(event).top() + row_of(event).height(); }
};

TEST_F(TimelineHighlights, HitsKeepTheirColourAndGetATickWhileTheRestIsDimmed) {
  const std::int32_t hit = event("reduce_scatter", "layers.1");
  const std::int32_t other = event("matmul", "layers.1");
  const QColor hit_before = colour_at(inside(hit)), other_before = colour_at(inside(other));
  search("reduce_scatter");
  EXPECT_EQ(colour_at(inside(hit)), hit_before);
  EXPECT_EQ(colour_at(upper_edge_of(hit)), theme()[Role::text]);
  EXPECT_EQ(colour_at(inside(other)), theme().towards_canvas(other_before, 0.65));
  EXPECT_NE(colour_at(upper_edge_of(other)), theme()[Role::text]);

  search("no_such_event");
  EXPECT_NE(colour_at(inside(hit)), hit_before);
  view_.show_hits(nullptr, nullptr);
  settle();
  EXPECT_EQ(colour_at(inside(hit)), hit_before);
  EXPECT_EQ(colour_at(inside(other)), other_before);
}

TEST_F(TimelineHighlights, AHitNarrowerThanAPixelHasItsTick) {
  const std::int32_t hit = event("reduce_scatter", "layers.1");
  search("unit:layers.1 reduce_scatter dur<85us");
  axis().set_bounds({0, us(2'000'000)});
  axis().show({0, us(2'000'000)});
  settle();
  const QRectF box = canvas().event_box({0, hit});
  const auto place = canvas().scene().place({0, hit});
  const double top = canvas().row_box(canvas().scene().rows()[place->row]).top();
  const QImage picture = viewport()->grab().toImage();
  bool has_tick = false;
  for (int x = box.toRect().left() - 2; x <= box.toRect().left() + 3; ++x) {
    has_tick = has_tick || picture.pixelColor(x, static_cast<int>(top)) == theme()[Role::text];
  }
  EXPECT_TRUE(has_tick);
}

TEST_F(TimelineHighlights, EscapeLeavesTheSearchBeforeItClearsTheSelection) {
  selection().select(EventId{0, event("matmul", "layers.1")});
  search("matmul");
  QSignalSpy left(&view_, &TimelineView::search_left);
  key(Qt::Key_Escape);
  EXPECT_EQ(left.count(), 1);
  EXPECT_TRUE(selection().event());
  view_.show_hits(nullptr, nullptr);
  key(Qt::Key_Escape);
  EXPECT_EQ(left.count(), 1);
  EXPECT_FALSE(selection().event());
}

TEST_F(TimelineHighlights, TheCriticalPathIsALineAlongTheLowerEdge) {
  axis().show({us(1000), us(2000)});
  settle();
  const auto& path = session_.current()->analysis->path.events;
  // The last collective ends the step, and what made its gradients stands before it; a gather was hidden.
  const std::int32_t on_it = event("reduce_scatter", "layers.0", 2);
  const std::int32_t off_it = event("all_gather", "layers.1", 2);
  ASSERT_NE(std::find(path.begin(), path.end(), on_it), path.end());
  ASSERT_EQ(std::find(path.begin(), path.end(), off_it), path.end());
  EXPECT_NE(colour_at(lower_edge_of(on_it)), theme()[Role::text]);
  view_.show_critical_path(true);
  settle();
  EXPECT_EQ(colour_at(lower_edge_of(on_it)), theme()[Role::text]);
  EXPECT_NE(colour_at(lower_edge_of(off_it)), theme()[Role::text]);
  view_.show_critical_path(false);
  settle();
  EXPECT_NE(colour_at(lower_edge_of(on_it)), theme()[Role::text]);
}

TEST_F(TimelineHighlights, WhatIsSelectedElsewhereIsBroughtIntoView) {
  axis().show({us(0), us(300)});
  const EventId far{0, event("reduce_scatter", "layers.0", 2)};
  ASSERT_TRUE(canvas().event_box(far).isEmpty());
  selection().select(far);
  EXPECT_FALSE(canvas().event_box(far).isEmpty());
}

}  // namespace
}  // namespace foreshard::gui
