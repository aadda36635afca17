// What the mouse does on the timeline, on the real widget.
#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

using TimelineMouse = ShownTimeline;

TEST_F(TimelineMouse, ControlWheelZoomsAtThePointer) {
  const std::int64_t there = axis().ns_at(300);
  wheel({static_cast<int>(header_width()) + 300, 150}, {0, 120}, Qt::ControlModifier);
  EXPECT_NEAR(us_per_pixel(), 1 / 1.25, 0.01);
  EXPECT_NEAR(axis().pixel_of(there), 300, 1);
}

TEST_F(TimelineMouse, ShiftWheelPansAndWheelScrollsRows) {
  axis().show({us(200), us(700)});
  wheel({600, 150}, {0, -120}, Qt::ShiftModifier);
  EXPECT_NEAR(static_cast<double>(axis().start_ns()), 230e3, 1e3);
  view_.resize(600, 300);
  settle();
  wheel({400, 120}, {0, -120}, Qt::NoModifier);
  EXPECT_GT(canvas().verticalScrollBar()->value(), 0);
}

TEST_F(TimelineMouse, EachButtonDragsTheWindow) {
  for (const auto button : {Qt::LeftButton, Qt::RightButton, Qt::MiddleButton}) {
    axis().show({us(200), us(700)});
    drag(button, Qt::NoModifier, {600, 150}, {500, 150});
    EXPECT_NEAR(static_cast<double>(axis().start_ns()), 250e3, 3e3) << button;
    EXPECT_FALSE(selection().event());
  }
}

TEST_F(TimelineMouse, ShiftDragSelectsARange) {
  drag(Qt::LeftButton, Qt::ShiftModifier, at(600, 150), at(200, 150));
  ASSERT_TRUE(selection().range());
  EXPECT_NEAR(static_cast<double>(selection().range()->start_ns), 200e3, 1e3);
  EXPECT_NEAR(static_cast<double>(selection().range()->end_ns), 600e3, 1e3);
}

TEST_F(TimelineMouse, DragsCanBeSwapped) {
  canvas().set_drags_swapped(true);
  drag(Qt::LeftButton, Qt::NoModifier, at(200, 150), at(600, 150));
  EXPECT_TRUE(selection().range());
}

TEST_F(TimelineMouse, TheRulerSelectsARangeWhoseHandlesDrag) {
  const double y = canvas().ruler_box().center().y();
  drag(Qt::LeftButton, Qt::NoModifier, at(200, y), at(400, y));
  ASSERT_TRUE(selection().range());
  drag(Qt::LeftButton, Qt::NoModifier, at(400, y), at(500, y));
  EXPECT_NEAR(static_cast<double>(selection().range()->start_ns), 200e3, 1e3);
  EXPECT_NEAR(static_cast<double>(selection().range()->end_ns), 500e3, 1e3);
  drag(Qt::LeftButton, Qt::NoModifier, at(200, y), at(700, y));  // past the other handle
  EXPECT_NEAR(static_cast<double>(selection().range()->start_ns), 500e3, 1e3);
  EXPECT_NEAR(static_cast<double>(selection().range()->end_ns), 700e3, 1e3);
}

TEST_F(TimelineMouse, EscapeEndsTheDragOfAHandle) {
  const double y = canvas().ruler_box().center().y();
  drag(Qt::LeftButton, Qt::NoModifier, at(200, y), at(400, y));
  QTest::mousePress(viewport(), Qt::LeftButton, Qt::NoModifier, at(400, y));
  move(Qt::LeftButton, Qt::NoModifier, at(450, y));
  key(Qt::Key_Escape);
  move(Qt::LeftButton, Qt::NoModifier, at(500, y));
  EXPECT_FALSE(selection().range());
  QTest::mouseRelease(viewport(), Qt::LeftButton, Qt::NoModifier, at(500, y));
}

TEST_F(TimelineMouse, MarksAreDraggedAndDroppedOffTheRuler) {
  const double y = canvas().ruler_box().center().y();
  selection().set_marks({us(300), us(500)});
  drag(Qt::LeftButton, Qt::NoModifier, at(300, y), at(600, y));
  EXPECT_EQ(selection().marks().size(), 2u);
  EXPECT_NEAR(static_cast<double>(selection().marks()[1]), 600e3, 3e3);
  drag(Qt::LeftButton, Qt::NoModifier, at(600, y), at(600, y + 200));
  EXPECT_EQ(selection().marks(), std::vector<std::int64_t>{us(500)});
}

TEST_F(TimelineMouse, AClickSelectsAnEventAndOneBesideItClears) {
  const std::int32_t gather = event("all_gather", "layers.0");
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, centre_of(gather));
  EXPECT_EQ(selection().event(), (EventId{0, gather}));
  EXPECT_EQ(selection().unit(), "layers.0");
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, centre_of(gather) + QPoint(70, 0));
  EXPECT_FALSE(selection().event());
}

TEST_F(TimelineMouse, ABoxIsMeantWithinTwoPixels) {
  const std::int32_t gather = event("all_gather", "layers.0");  // ends at 120
  const QPoint middle = centre_of(gather);
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, {at(120, 0).x() + 2, middle.y()});
  EXPECT_EQ(selection().event(), (EventId{0, gather}));
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, {at(120, 0).x() + 5, middle.y()});
  EXPECT_FALSE(selection().event());
}

TEST_F(TimelineMouse, ADoubleClickFitsAnEventAndOnEmptySpaceTheStep) {
  const std::int32_t gather = event("all_gather", "layers.0");  // 20 to 120
  const int y = centre_of(gather).y();
  QTest::mouseDClick(viewport(), Qt::LeftButton, {}, centre_of(gather));
  EXPECT_NEAR(static_cast<double>(axis().start_ns()), 12e3, 1e3);
  EXPECT_NEAR(static_cast<double>(axis().end_ns()), 128e3, 1e3);
  axis().show({0, us(1000)});
  QTest::mouseDClick(viewport(), Qt::LeftButton, {}, at(400, y));
  EXPECT_EQ(axis().start_ns(), 0);
  EXPECT_NEAR(static_cast<double>(axis().end_ns()), 900e3, 1e3);
}

TEST_F(TimelineMouse, TheMinimapMovesTheWindowAndItsEdges) {
  const auto on_map = [&](std::int64_t microseconds) {  // 1900 over the lanes' width
    return QPoint(static_cast<int>(header_width() +
                                   static_cast<double>(microseconds) * (axis().width() - 1) / 1900),
                  static_cast<int>(canvas().minimap_box().center().y()));
  };
  axis().show({us(400), us(800)});
  drag(Qt::LeftButton, Qt::NoModifier, on_map(600), on_map(1000));
  EXPECT_NEAR(static_cast<double>(axis().start_ns()), 800e3, 6e3);
  EXPECT_NEAR(static_cast<double>(axis().end_ns()), 1200e3, 6e3);
  drag(Qt::LeftButton, Qt::NoModifier, on_map(1200), on_map(1500));
  EXPECT_NEAR(static_cast<double>(axis().start_ns()), 800e3, 6e3);
  EXPECT_NEAR(static_cast<double>(axis().end_ns()), 1500e3, 6e3);
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, on_map(400));
  EXPECT_NEAR(static_cast<double>(axis().start_ns() + axis().end_ns()) / 2, 400e3, 6e3);
}

TEST_F(TimelineMouse, TheCursorFollowsAndTheCardComesAfterAWhile) {
  const QPoint place = centre_of(event("matmul", "layers.0"));
  QTest::mouseMove(viewport(), place);
  move(Qt::NoButton, Qt::NoModifier, place);
  ASSERT_TRUE(selection().cursor_ns());
  EXPECT_NEAR(static_cast<double>(*selection().cursor_ns()), 220e3, 1e3);
  EXPECT_TRUE(canvas().card_box().isEmpty());
  EXPECT_TRUE(QTest::qWaitFor([&] { return !canvas().card_box().isEmpty(); }, 1000));
  EXPECT_DOUBLE_EQ(canvas().card_box().width(), 262);
  EXPECT_TRUE(QRectF(viewport()->rect()).contains(canvas().card_box()));
  EXPECT_FALSE(
      canvas().card_box().intersects(canvas().event_box({0, event("matmul", "layers.0")})));
  key(Qt::Key_Escape);
  EXPECT_TRUE(canvas().card_box().isEmpty());
}

TEST_F(TimelineMouse, ALaneIsDraggedByItsHeader) {
  const std::int32_t gather = event("all_gather", "layers.0"), kernel = event("matmul", "layers.0");
  ASSERT_LT(centre_of(kernel).y(), centre_of(gather).y());
  drag(Qt::LeftButton, Qt::NoModifier, {40, centre_of(gather).y()}, {40, centre_of(kernel).y()});
  EXPECT_GT(centre_of(kernel).y(), centre_of(gather).y());
}

TEST_F(TimelineMouse, ASectionFoldsByItsHeader) {
  const SceneRow section = canvas().scene().rows().front();
  ASSERT_EQ(section.kind, SceneRow::Kind::section);
  const std::size_t all = canvas().scene().rows().size();
  const QPoint header(40, static_cast<int>(canvas().row_box(section).center().y()));
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, header);
  EXPECT_LT(canvas().scene().rows().size(), all);
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, header);
  EXPECT_EQ(canvas().scene().rows().size(), all);
}

}  // namespace
}  // namespace foreshard::gui
