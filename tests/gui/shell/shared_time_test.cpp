// Timeline, Memory and Compare move along time alike, and share one cursor and one range, whatever the
// clocks of the documents.
#include <QApplication>
#include <QMouseEvent>
#include <QWheelEvent>
#include <QtTest>

#include <gtest/gtest.h>

#include "gui/paint/theme.hpp"
#include "gui/views/compare/compare_view.hpp"
#include "gui/views/memory/memory_view.hpp"
#include "gui/views/timeline/timeline_view.hpp"
#include "tests/gui/compare/two_runs.hpp"

namespace foreshard::gui {
namespace {

constexpr std::int64_t kUnixTime = 1'700'000'000'000'000'000;

traces::Trace later_by(traces::Trace trace, std::int64_t ns) {
  trace.events.update_all([ns](traces::Event& event) {
    event.start_ns += ns;
    event.end_ns += ns;
  });
  for (traces::Step& step : trace.steps) {
    step.start_ns += ns;
    step.end_ns += ns;
  }
  trace.memory.update_all([ns](traces::MemoryEvent& event) { event.time_ns += ns; });
  return trace;
}

class SharedTime : public testing::Test {
 protected:
  SharedTime() : timeline_(session_), memory_(session_), compare_(session_) {
    Appearance::instance().set_less_motion(true);
    tests::TwoRuns runs = tests::two_runs();
    session_.add(make_document(std::move(runs.baseline), Source::measured, {}, {}));
    session_.add(
        make_document(later_by(std::move(runs.candidate), kUnixTime), Source::predicted, {}, {}));
    for (View* view : views()) view->resize(1100, 800);
    show(compare_);
  }
  ~SharedTime() override { Appearance::instance().set_less_motion(false); }

  std::vector<View*> views() { return {&timeline_, &memory_, &compare_}; }
  Selection& selection() { return session_.selection(); }
  TimeCanvas& canvas(View& view) { return *view.findChild<TimeCanvas*>(); }
  const StepSide& side(bool is_candidate) { return compare_.comparison()->step.side(is_candidate); }

  void show(View& view) {  // alone, as in a window
    for (View* other : views()) other->setVisible(other == &view);
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(QTest::qWaitFor([&] { return !view.is_busy(); }, 30000));
      static_cast<void>(view.grab());
    }
  }
  void send(View& view, QEvent::Type type, QPoint at, Qt::MouseButtons held,
            Qt::KeyboardModifiers modifiers = {}) {
    QWidget* viewport = canvas(view).viewport();
    const auto button = type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton;
    QMouseEvent event(type, at, viewport->mapToGlobal(at), button, held, modifiers);
    QApplication::sendEvent(viewport, &event);
  }
  void drag(View& view, QPoint from, QPoint to, Qt::KeyboardModifiers modifiers) {
    send(view, QEvent::MouseButtonPress, from, Qt::LeftButton, modifiers);
    for (int n = 1; n <= 4; ++n)
      send(view, QEvent::MouseMove, from + (to - from) * n / 4, Qt::LeftButton, modifiers);
    send(view, QEvent::MouseButtonRelease, to, Qt::NoButton, modifiers);
  }
  QPoint on_lanes(View& view, std::int64_t place) {
    const TimeCanvas& shown = canvas(view);
    return {static_cast<int>(std::lround(shown.header() + shown.axis().pixel_of(place))),
            shown.viewport()->height() - 3};
  }
  QPoint on_ruler(View& view, std::int64_t place) {
    return {on_lanes(view, place).x(), static_cast<int>(canvas(view).ruler_box().center().y())};
  }
  // The first and last column, right of the headers, that `change` changes below the ruler.
  template <class Change>
  std::pair<int, int> changed_columns(View& view, const Change& change) {
    const auto lowest = [&] {
      return canvas(view).viewport()->grab().toImage().copy(
          0, canvas(view).viewport()->height() - 3, canvas(view).viewport()->width(), 1);
    };
    const QImage before = lowest();
    change();
    const QImage after = lowest();
    std::pair<int, int> found{-1, -1};
    for (int x = 0; x < before.width(); ++x) {
      if (before.pixel(x, 0) == after.pixel(x, 0)) continue;
      if (found.first < 0) found.first = x;
      found.second = x;
    }
    return found;
  }

  Session session_;
  TimelineView timeline_;
  MemoryView memory_;
  CompareView compare_;
};

TEST_F(SharedTime, TheCursorSetInTheTimelineStandsInTheComparedStep) {
  for (const bool is_candidate : {true, false}) {
    session_.set_current(is_candidate ? 1 : 0);
    show(timeline_);
    const traces::Interval step = side(is_candidate).step;
    session_.axis().show(step);
    const std::int64_t wanted = step.start_ns + 3'300'000;
    send(timeline_, QEvent::MouseMove, on_lanes(timeline_, wanted), Qt::NoButton);
    ASSERT_TRUE(selection().cursor_ns());
    const std::int64_t cursor = *selection().cursor_ns();
    EXPECT_NEAR(static_cast<double>(cursor - wanted), 0, session_.axis().ns_per_pixel());
    show(compare_);
    ASSERT_EQ(selection().cursor_ns(), cursor) << "a change of view keeps the cursor";
    const auto [from, to] =
        changed_columns(compare_, [&] { selection().set_cursor(std::nullopt); });
    EXPECT_NEAR(from, on_lanes(compare_, cursor - step.start_ns).x(), 1);
    EXPECT_EQ(from, to);
    const auto none =
        changed_columns(compare_, [&] { selection().set_cursor(step.end_ns + 40'000'000); });
    EXPECT_EQ(none.first, -1) << "of another step";
  }
}

TEST_F(SharedTime, ThePointerInCompareSetsTheCursorOfTheOthers) {
  session_.set_current(1);
  show(compare_);
  const std::int64_t since = 7'000'000, wanted = side(true).step.start_ns + since;
  send(compare_, QEvent::MouseMove, on_lanes(compare_, since), Qt::NoButton);
  ASSERT_TRUE(selection().cursor_ns());
  EXPECT_NEAR(static_cast<double>(*selection().cursor_ns() - wanted), 0,
              canvas(compare_).axis().ns_per_pixel());
  show(timeline_);
  session_.axis().show(side(true).step);
  const std::int64_t cursor = *selection().cursor_ns();
  const auto [from, to] = changed_columns(timeline_, [&] { selection().set_cursor(std::nullopt); });
  EXPECT_NEAR(from, on_lanes(timeline_, cursor).x(), 1);
  selection().set_cursor(cursor);
  show(memory_);
  const auto& curve = *memory_.memory()->curve();
  EXPECT_EQ(memory_.sample(), curve.sample_at(memory_.memory()->time_clock(), cursor));
}

TEST_F(SharedTime, ARangeIsTheSameInEveryView) {
  session_.set_current(0);
  show(compare_);
  drag(compare_, on_lanes(compare_, 2'000'000), on_lanes(compare_, 6'000'000), Qt::ShiftModifier);
  ASSERT_TRUE(selection().range());
  const traces::Interval range = *selection().range();
  const std::int64_t start = side(false).step.start_ns;
  const double pixel = canvas(compare_).axis().ns_per_pixel();
  EXPECT_NEAR(static_cast<double>(range.start_ns - start), 2e6, pixel);
  EXPECT_NEAR(static_cast<double>(range.end_ns - start), 6e6, pixel);
  for (View* view : {static_cast<View*>(&timeline_), static_cast<View*>(&memory_)}) {
    show(*view);
    session_.axis().show(side(false).step);
    drag(*view, on_ruler(*view, range.end_ns), on_ruler(*view, start + 8'000'000), {});
    EXPECT_NEAR(static_cast<double>(selection().range()->end_ns - start), 8e6,
                session_.axis().ns_per_pixel());
    selection().set_range(range);
  }
  show(compare_);
  const auto [from, to] = changed_columns(compare_, [&] { selection().set_range(std::nullopt); });
  EXPECT_NEAR(from, on_lanes(compare_, range.start_ns - start).x(), 1);
  EXPECT_NEAR(to, on_lanes(compare_, range.end_ns - start).x(), 1);
}

TEST_F(SharedTime, ARangeBeyondTheStepIsSeenAsFarAsTheStepGoes) {
  session_.set_current(1);
  show(compare_);
  const traces::Interval step = side(true).step;
  selection().set_range(traces::Interval{step.start_ns - 50'000'000, step.start_ns + 3'000'000});
  const auto [from, to] = changed_columns(compare_, [&] { selection().set_range(std::nullopt); });
  EXPECT_NEAR(from, on_lanes(compare_, 0).x(), 1);
  EXPECT_NEAR(to, on_lanes(compare_, 3'000'000).x(), 1);
}

TEST_F(SharedTime, AWheelTurnZoomsAndPansEveryViewAlike) {
  for (View* view : views()) {
    show(*view);
    TimeAxis& axis = canvas(*view).axis();
    const std::int64_t third = (axis.bounds().end_ns - axis.bounds().start_ns) / 3;
    axis.show({axis.bounds().start_ns + third, axis.bounds().start_ns + 2 * third});
    const auto turn = [&](Qt::KeyboardModifiers modifiers) {
      const QPoint at(static_cast<int>(canvas(*view).header()) + 200, 200);
      QWheelEvent event(at, canvas(*view).viewport()->mapToGlobal(at), {}, {0, 120}, Qt::NoButton,
                        modifiers, Qt::NoScrollPhase, false);
      QApplication::sendEvent(canvas(*view).viewport(), &event);
    };
    const double before = axis.ns_per_pixel();
    const std::int64_t there = axis.ns_at(200);
    turn(Qt::ControlModifier);
    EXPECT_NEAR(before / axis.ns_per_pixel(), 1.25, 1e-6) << qPrintable(view->title());
    EXPECT_NEAR(axis.pixel_of(there), 200, 1) << qPrintable(view->title());
    const std::int64_t start = axis.start_ns();
    turn(Qt::ShiftModifier);
    EXPECT_NEAR(static_cast<double>(start - axis.start_ns()) / axis.ns_per_pixel(), 60, 1)
        << qPrintable(view->title());
  }
}

TEST_F(SharedTime, KeysMoveEveryViewAlike) {
  for (View* view : views()) {
    show(*view);
    TimeAxis& axis = canvas(*view).axis();
    const std::int64_t third = (axis.bounds().end_ns - axis.bounds().start_ns) / 3;
    axis.show({axis.bounds().start_ns + third, axis.bounds().start_ns + 2 * third});
    const auto press = [&](Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
      QTest::keyClick(&canvas(*view), key, modifiers);
    };
    const QByteArray title = view->title().toUtf8();
    const double before = axis.ns_per_pixel();
    press(Qt::Key_W);
    EXPECT_NEAR(before / axis.ns_per_pixel(), 1.3, 1e-6) << title.constData();
    press(Qt::Key_S);
    const std::int64_t start = axis.start_ns();
    press(Qt::Key_D);
    EXPECT_NEAR(axis.pixel_of(start), -axis.width() / 8, 1) << title.constData();
    press(Qt::Key_A);
    press(Qt::Key_Left, Qt::ShiftModifier);
    EXPECT_GT(axis.pixel_of(start), axis.width() / 8 + 1) << title.constData();
    press(Qt::Key_0);
    EXPECT_LE(axis.start_ns(), axis.bounds().start_ns) << title.constData();
    EXPECT_GE(axis.end_ns(), axis.bounds().end_ns) << title.constData();
  }
}

TEST_F(SharedTime, EscapeEndsADragInEveryView) {
  for (View* view : views()) {
    show(*view);
    TimeAxis& axis = canvas(*view).axis();
    const auto share = [&](int tenths) { return axis.ns_at(axis.width() * tenths / 10); };
    drag(*view, on_ruler(*view, share(2)), on_ruler(*view, share(4)), {});
    ASSERT_TRUE(selection().range()) << qPrintable(view->title());
    send(*view, QEvent::MouseButtonPress, on_ruler(*view, share(4)), Qt::LeftButton);
    send(*view, QEvent::MouseMove, on_ruler(*view, share(5)), Qt::LeftButton);
    QTest::keyClick(&canvas(*view), Qt::Key_Escape);
    send(*view, QEvent::MouseMove, on_ruler(*view, share(6)), Qt::LeftButton);
    EXPECT_FALSE(selection().range()) << qPrintable(view->title());
    send(*view, QEvent::MouseButtonRelease, on_ruler(*view, share(6)), Qt::NoButton);
    EXPECT_FALSE(selection().range()) << qPrintable(view->title());

    const traces::Interval window = axis.window();
    send(*view, QEvent::MouseButtonPress, {400, 300}, Qt::LeftButton);
    send(*view, QEvent::MouseMove, {330, 300}, Qt::LeftButton);
    QTest::keyClick(&canvas(*view), Qt::Key_Escape);
    EXPECT_EQ(axis.window(), window) << qPrintable(view->title());
    send(*view, QEvent::MouseButtonRelease, {330, 300}, Qt::NoButton);
  }
}

TEST_F(SharedTime, WithoutDocumentsKeysAndMouseDoNothing) {
  while (!session_.documents().empty()) session_.close(0);
  for (View* view : views()) {
    show(*view);
    for (const Qt::Key key :
         {Qt::Key_W, Qt::Key_F, Qt::Key_0, Qt::Key_M, Qt::Key_R, Qt::Key_Escape})
      QTest::keyClick(&canvas(*view), key);
    for (const QPoint at : {QPoint(300, 10), QPoint(300, 60), QPoint(300, 300)}) {
      send(*view, QEvent::MouseMove, at, Qt::NoButton);
      drag(*view, at, at + QPoint(100, 0), Qt::ShiftModifier);
    }
    EXPECT_FALSE(selection().range());
    EXPECT_FALSE(selection().cursor_ns());
  }
}

TEST_F(SharedTime, ByTheOrderOfEventsThereIsNoRange) {
  show(memory_);
  for (int n = 0; n < kMemoryClocks && memory_.clock() != MemoryClock::event_order; ++n)
    QTest::keyClick(&memory_, Qt::Key_T);
  ASSERT_EQ(memory_.clock(), MemoryClock::event_order);
  drag(memory_, {300, 300}, {500, 300}, Qt::ShiftModifier);
  drag(memory_, {300, 10}, {500, 10}, {});
  EXPECT_FALSE(selection().range());
}

TEST_F(SharedTime, WhereThePointerLeavesTheCursorReturns) {
  show(timeline_);
  const std::int64_t set = session_.axis().ns_at(100);
  selection().set_cursor(set);
  send(timeline_, QEvent::MouseMove, {600, 300}, Qt::NoButton);
  EXPECT_NE(selection().cursor_ns(), set);
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(canvas(timeline_).viewport(), &leave);
  EXPECT_EQ(selection().cursor_ns(), set);
}

}  // namespace
}  // namespace foreshard::gui
