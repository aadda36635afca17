// A timeline in a window of its own, for tests: 1000 pixels of lanes that show the first step.
#pragma once

#include <QtTest>

#include <gtest/gtest.h>

#include "gui/views/timeline/timeline_view.hpp"
#include "tests/gui/timeline/small_run.hpp"

namespace foreshard::gui {

class ShownTimeline : public testing::Test {
 protected:
  ShownTimeline() : view_(session_) {
    Appearance::instance().set_less_motion(true);
    session_.add(make_document(small_run(), Source::measured, QStringLiteral("run.fst"), {}));
    view_.resize(static_cast<int>(header_width()) + 1000, 700);
    view_.show();
    canvas().setFocus();
    settle();
    axis().show({0, us(1000)});
    settle();
  }
  ~ShownTimeline() override { Appearance::instance().set_less_motion(false); }

  TimelineCanvas& canvas() { return view_.canvas(); }
  QWidget* viewport() { return canvas().viewport(); }
  TimeAxis& axis() { return session_.axis(); }
  Selection& selection() { return session_.selection(); }
  const traces::Trace& trace() { return *session_.current()->trace; }

  void settle() {
    EXPECT_TRUE(QTest::qWaitFor([&] {
      viewport()->repaint();
      return !view_.is_busy();
    }));
  }
  void key(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&canvas(), static_cast<Qt::Key>(key), modifiers);
  }
  // In the viewport.
  QPoint at(std::int64_t microseconds, double y) {
    return QPointF(header_width() + axis().pixel_of(us(microseconds)), y).toPoint();
  }
  QPoint centre_of(std::int32_t event) { return canvas().event_box({0, event}).center().toPoint(); }
  std::int32_t event(const char* name, const char* unit, int step = 1) {
    return find_event(trace(), name, unit, step);
  }
  double us_per_pixel() { return axis().ns_per_pixel() / 1000; }
  void drag(Qt::MouseButton button, Qt::KeyboardModifiers modifiers, QPoint from, QPoint to) {
    QTest::mousePress(viewport(), button, modifiers, from);
    for (int n = 1; n <= 4; ++n) move(button, modifiers, from + (to - from) * n / 4);
    QTest::mouseRelease(viewport(), button, modifiers, to);
  }
  void move(Qt::MouseButtons held, Qt::KeyboardModifiers modifiers, QPoint to) {
    QMouseEvent event(QEvent::MouseMove, to, viewport()->mapToGlobal(to), Qt::NoButton, held,
                      modifiers);
    QApplication::sendEvent(viewport(), &event);
  }
  void wheel(QPoint at, QPoint angle, Qt::KeyboardModifiers modifiers) {
    QWheelEvent event(at, viewport()->mapToGlobal(at), {}, angle, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(viewport(), &event);
  }

  Session session_;
  TimelineView view_;
};

}  // namespace foreshard::gui
