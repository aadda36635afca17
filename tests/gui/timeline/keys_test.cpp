// Every key of the timeline, pressed on the real widget.
#include <QAccessible>
#include <QClipboard>
#include <QScrollBar>

#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

using TimelineKeys = ShownTimeline;

double length_us(const TimeAxis& axis) {
  return static_cast<double>(axis.end_ns() - axis.start_ns()) / 1000;
}

TEST_F(TimelineKeys, WAndSZoomAroundTheMiddle) {
  key(Qt::Key_W);
  EXPECT_NEAR(length_us(axis()), 1000 / 1.3, 1);
  EXPECT_NEAR(static_cast<double>(axis().ns_at(500)), 500e3, 1e3);
  key(Qt::Key_S);
  EXPECT_NEAR(length_us(axis()), 1000, 1);
}

TEST_F(TimelineKeys, ShiftIsFourTimesAsFar) {
  key(Qt::Key_W, Qt::ShiftModifier);
  EXPECT_NEAR(length_us(axis()), 1000 / std::pow(1.3, 4), 1);
  axis().show({us(200), us(300)});
  key(Qt::Key_D, Qt::ShiftModifier);
  EXPECT_NEAR(static_cast<double>(axis().start_ns()), 250e3, 1e3);
}

TEST_F(TimelineKeys, AAndDAndArrowsPan) {
  axis().show({us(200), us(600)});
  for (const auto& [there, back] :
       {std::pair(Qt::Key_D, Qt::Key_A), std::pair(Qt::Key_Right, Qt::Key_Left)}) {
    key(there);
    EXPECT_NEAR(static_cast<double>(axis().start_ns()), 250e3, 1e3);
    key(back);
    EXPECT_NEAR(static_cast<double>(axis().start_ns()), 200e3, 1e3);
  }
}

TEST_F(TimelineKeys, UpAndDownScrollTheRows) {
  view_.resize(600, 300);
  settle();
  ASSERT_GT(canvas().verticalScrollBar()->maximum(), 0);
  key(Qt::Key_Down);
  EXPECT_GT(canvas().verticalScrollBar()->value(), 0);
  key(Qt::Key_Up);
  EXPECT_EQ(canvas().verticalScrollBar()->value(), 0);
}

TEST_F(TimelineKeys, FFitsTheSelectionAndThenTheStep) {
  selection().select(EventId{0, event("matmul", "layers.1")});  // 320 to 520
  key(Qt::Key_F);
  EXPECT_NEAR(static_cast<double>(axis().start_ns()), 304e3, 1e3);
  EXPECT_NEAR(static_cast<double>(axis().end_ns()), 536e3, 1e3);
  key(Qt::Key_F);  // the last step
  EXPECT_NEAR(static_cast<double>(axis().start_ns()), 1000e3, 1e3);
  EXPECT_NEAR(static_cast<double>(axis().end_ns()), 1900e3, 1e3);
}

TEST_F(TimelineKeys, ZeroShowsTheWholeTrace) {
  key(Qt::Key_0);
  EXPECT_EQ(axis().start_ns(), axis().bounds().start_ns);
  EXPECT_NEAR(length_us(axis()), 1900, 1);
}

TEST_F(TimelineKeys, CommaAndPeriodSelectTheNeighboursInTheLane) {
  selection().select(EventId{0, event("matmul", "layers.1")});
  key(Qt::Key_Period);
  EXPECT_EQ(selection().event()->event, event("matmul_weight_gradient", "layers.1"));
  key(Qt::Key_Comma);
  key(Qt::Key_Comma);
  EXPECT_EQ(selection().event()->event, event("matmul", "layers.0"));
  key(Qt::Key_Comma);  // the first stays
  EXPECT_EQ(selection().event()->event, event("matmul", "layers.0"));
}

TEST_F(TimelineKeys, SelectingWhatIsOutOfViewBringsItThere) {
  selection().select(EventId{0, event("matmul_weight_gradient", "layers.0")});
  axis().show({us(0), us(300)});
  key(Qt::Key_Period);  // the second step's first
  EXPECT_EQ(selection().event()->event, event("matmul", "layers.0", 2));
  EXPECT_FALSE(canvas().event_box(*selection().event()).isEmpty());
}

TEST_F(TimelineKeys, MSetsAndRemovesAMarkAndShiftMGoesToThem) {
  selection().set_cursor(us(250));
  key(Qt::Key_M);
  selection().set_cursor(us(1500));
  key(Qt::Key_M);
  EXPECT_EQ(selection().marks(), (std::vector<std::int64_t>{us(250), us(1500)}));
  axis().show({us(600), us(800)});
  key(Qt::Key_M, Qt::ShiftModifier);
  EXPECT_NEAR(axis().pixel_of(us(1500)), axis().width() / 2, 1);
  key(Qt::Key_M, Qt::ShiftModifier);
  EXPECT_NEAR(axis().pixel_of(us(250)), axis().width() / 2, 1);
  selection().set_cursor(us(250));
  key(Qt::Key_M);
  EXPECT_EQ(selection().marks(), std::vector<std::int64_t>{us(1500)});
}

TEST_F(TimelineKeys, RTakesTheRangeOfTheSelectionAndEscapeClearsIt) {
  selection().select(EventId{0, event("reduce_scatter", "layers.1")});
  key(Qt::Key_R);
  EXPECT_EQ(selection().range(), (traces::Interval{us(700), us(780)}));
  key(Qt::Key_Escape);
  EXPECT_FALSE(selection().range());
  EXPECT_TRUE(selection().event());
  key(Qt::Key_Escape);
  EXPECT_FALSE(selection().event());
}

TEST_F(TimelineKeys, KGoesToThePeakOfMemory) {
  axis().show({us(1000), us(1100)});
  key(Qt::Key_K);
  ASSERT_TRUE(selection().cursor_ns());
  EXPECT_NEAR(axis().pixel_of(*selection().cursor_ns()), axis().width() / 2, 1);
}

TEST_F(TimelineKeys, SpaceFoldsTheSectionAndHHidesALane) {
  const std::size_t all = canvas().scene().rows().size();
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, centre_of(event("all_gather", "layers.0")));
  key(Qt::Key_H);
  EXPECT_EQ(canvas().scene().rows().size(), all - 1);
  key(Qt::Key_H, Qt::ShiftModifier);
  EXPECT_EQ(canvas().scene().rows().size(), all);
}

TEST_F(TimelineKeys, TabGoesToTheSameInstructionInTheOtherTraceAndBack) {
  const EventId here{0, event("reduce_scatter", "layers.1", 2)};
  selection().select(here);
  key(Qt::Key_Tab);
  EXPECT_EQ(selection().event(), here);  // there is no other trace
  session_.add(make_document(small_run(), Source::predicted, QStringLiteral("prediction"), {}));
  canvas().setFocus();
  selection().select(here);
  axis().show({us(1600), us(1700)});
  key(Qt::Key_Tab);
  EXPECT_EQ(selection().event(), (EventId{1, here.event}));
  EXPECT_EQ(session_.current_index(), 1);
  EXPECT_NEAR(length_us(axis()), 100, 1);
  EXPECT_FALSE(canvas().event_box(*selection().event()).isEmpty());
  key(Qt::Key_Tab);
  EXPECT_EQ(selection().event(), here);
  EXPECT_EQ(session_.current_index(), 0);
}

TEST_F(TimelineKeys, SpaceFoldsAndUnfoldsALane) {
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, centre_of(event("matmul", "layers.0")));
  const double high = canvas().event_box({0, event("matmul", "layers.0")}).height();
  key(Qt::Key_Space);
  EXPECT_LT(canvas().event_box({0, event("matmul", "layers.0")}).height(), high / 2);
  key(Qt::Key_Space);
  EXPECT_EQ(canvas().event_box({0, event("matmul", "layers.0")}).height(), high);
}

TEST_F(TimelineKeys, PPinsALaneToTheTopAndBack) {
  const std::int32_t scatter = event("reduce_scatter", "layers.1");
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, centre_of(scatter));
  const QRectF before = canvas().event_box({0, scatter});
  key(Qt::Key_P);
  EXPECT_LT(canvas().event_box({0, scatter}).top(), canvas().rows_box().top() + 4);
  QTest::mouseClick(viewport(), Qt::LeftButton, {}, centre_of(scatter));
  key(Qt::Key_P);
  EXPECT_EQ(canvas().event_box({0, scatter}), before);
}

TEST_F(TimelineKeys, BracketsWalkAlongTheArrows) {
  selection().select(EventId{0, event("matmul", "layers.0")});  // what it waited for is over at 120
  key(Qt::Key_BracketLeft);
  EXPECT_EQ(selection().event()->event, event("all_gather", "layers.0"));
  selection().select(EventId{0, event("matmul_weight_gradient", "layers.0")});
  key(Qt::Key_BracketRight);
  EXPECT_EQ(selection().event()->event, event("reduce_scatter", "layers.0"));
}

TEST_F(TimelineKeys, AltAndArrowsSelectTheSameInstructionOfAnotherStep) {
  selection().select(EventId{0, event("matmul", "layers.1")});
  key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(selection().event()->event, event("matmul", "layers.1", 2));
  key(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(selection().event()->event, event("matmul", "layers.1"));
  key(Qt::Key_Down, Qt::AltModifier);  // there is no other rank
  EXPECT_EQ(selection().event()->event, event("matmul", "layers.1"));
}

TEST_F(TimelineKeys, CChangesWhatColoursMean) {
  const QImage by_phase = view_.grab().toImage();
  key(Qt::Key_C);
  settle();
  EXPECT_NE(view_.grab().toImage(), by_phase);
  for (int n = 0; n < 3; ++n) key(Qt::Key_C);
  settle();
  EXPECT_EQ(view_.grab().toImage(), by_phase);
}

TEST_F(TimelineKeys, CComesToCostSourcesWithALegend) {
  traces::Trace predicted = small_run();
  predicted.events.update_all([](traces::Event& event) {
    if (event.lane != 1) return;
    event.cost_source =
        event.step == 1 && event.start_ns < us(520) ? CostSource::modelled : CostSource::measured;
  });
  session_.replace(0, make_document(std::move(predicted), Source::predicted, {}, {}));
  axis().show({0, us(1000)});
  for (int n = 0; n < 3; ++n) key(Qt::Key_C);
  settle();
  const QImage image = viewport()->grab().toImage();
  // Below the label.
  const auto colours_of = [&](std::int32_t at) {
    const QRect box = canvas().event_box({0, at}).toAlignedRect().adjusted(2, 2, -2, -2);
    std::set<QRgb> seen;
    for (int y = box.bottom() - 6; y < box.bottom(); ++y) {
      for (int x = box.left(); x < box.right(); ++x) seen.insert(image.pixel(x, y));
    }
    return seen;
  };
  const auto modelled = colours_of(event("matmul", "layers.0"));
  EXPECT_TRUE(modelled.contains(theme()[Role::cost_modelled].rgb()));
  EXPECT_GT(modelled.size(), 1u) << "what is modelled is hatched as well";
  EXPECT_EQ(colours_of(event("matmul_weight_gradient", "layers.0")),
            std::set{theme()[Role::cost_measured].rgb()});
  ASSERT_FALSE(canvas().scene().rows().empty());
  QStringList legend;
  for (const LegendEntry& entry : canvas().scene().rows().front().legend) legend << entry.text;
  // 400 of 400 + 340 + 740 microseconds.
  EXPECT_EQ(legend,
            (QStringList{QStringLiteral("measured 73.0 %"), QStringLiteral("modelled 27.0 %")}));
}

TEST_F(TimelineKeys, TChangesTheClockOfMemory) {
  const QImage before = view_.grab().toImage();
  key(Qt::Key_T);
  settle();
  EXPECT_NE(view_.grab().toImage(), before);
}

TEST_F(TimelineKeys, AssistiveTechnologySeesLanesAndTheSelection) {
  QAccessibleInterface* table = QAccessible::queryAccessibleInterface(&canvas());
  ASSERT_NE(table, nullptr);
  const int rows = static_cast<int>(canvas().scene().rows().size());
  ASSERT_EQ(table->childCount(), rows);
  EXPECT_EQ(table->child(1)->role(), QAccessible::Row);
  EXPECT_TRUE(table->child(1)->text(QAccessible::Name).startsWith(QStringLiteral("Phase")));
  selection().select(EventId{0, event("matmul", "layers.1")});
  ASSERT_EQ(table->childCount(), rows + 1);
  EXPECT_TRUE(table->child(rows)->text(QAccessible::Name).contains(QStringLiteral("matmul")));
  EXPECT_FALSE(table->child(rows)->rect().isEmpty());
}

TEST_F(TimelineKeys, ADocumentMayBeReplacedByAShorterOne) {
  selection().select(EventId{0, event("reduce_scatter", "layers.0", 2)});
  traces::Trace shorter = small_run();
  shorter.events.truncate(4);
  session_.replace(0, make_document(std::move(shorter), Source::measured, {}, {}));
  settle();
  EXPECT_FALSE(selection().event());
  key(Qt::Key_Period);
  key(Qt::Key_F);
  settle();
}

TEST_F(TimelineKeys, ControlCCopiesText) {
  selection().select(EventId{0, event("matmul", "layers.0")});
  key(Qt::Key_C, Qt::ControlModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().contains(QStringLiteral("matmul")));
}

}  // namespace
}  // namespace foreshard::gui
