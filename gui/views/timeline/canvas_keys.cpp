// What the keys do on the timeline's canvas.
#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QScrollBar>
#include <cmath>

#include "gui/views/timeline/timeline_canvas.hpp"

namespace foreshard::gui {
namespace {

constexpr double kZoomStep = 1.3;      // by W and S
constexpr double kPanShare = 1.0 / 8;  // of the window, by A and D
constexpr int kFaster = 4;             // with Shift

}  // namespace

void TimelineCanvas::focusInEvent(QFocusEvent* event) {
  shows_focus_ = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
  QAbstractScrollArea::focusInEvent(event);
}

bool TimelineCanvas::focusNextPrevChild(bool next) {
  if (next && hasFocus() && select_in_other_trace()) return true;
  return QAbstractScrollArea::focusNextPrevChild(next);
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
  const bool is_handled = modifiers == Qt::AltModifier     ? press_with_alt(event->key())
                          : modifiers == Qt::ShiftModifier ? press_with_shift(event->key())
                          : modifiers == Qt::NoModifier    ? press_plain(event->key())
                                                           : false;
  if (is_handled) {
    event->accept();
  } else if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(as_text());
  } else {
    QAbstractScrollArea::keyPressEvent(event);
  }
}

// What moves the window; `speed` times as far.
bool TimelineCanvas::move_window(int key, int speed) {
  switch (key) {
    case Qt::Key_W: zoom(std::pow(kZoomStep, speed)); return true;
    case Qt::Key_S: zoom(std::pow(kZoomStep, -speed)); return true;
    case Qt::Key_A:
    case Qt::Key_Left:
      session_.axis().pan(-speed * kPanShare * session_.axis().width());
      return true;
    case Qt::Key_D:
    case Qt::Key_Right:
      session_.axis().pan(speed * kPanShare * session_.axis().width());
      return true;
    case Qt::Key_Up: scroll_rows(-speed); return true;
    case Qt::Key_Down: scroll_rows(speed); return true;
    default: return false;
  }
}

bool TimelineCanvas::press_plain(int key) {
  if (move_window(key, 1)) return true;
  switch (key) {
    case Qt::Key_F: fit(); return true;
    case Qt::Key_0: session_.axis().show(session_.everything()); return true;
    case Qt::Key_Comma: select_beside(-1); return true;
    case Qt::Key_Period: select_beside(1); return true;
    case Qt::Key_BracketLeft: follow_arrow(Direction::cause); return true;
    case Qt::Key_BracketRight: follow_arrow(Direction::effect); return true;
    case Qt::Key_M: toggle_mark(); return true;
    case Qt::Key_C: next_colouring(); return true;
    case Qt::Key_K: go_to_peak(); return true;
    case Qt::Key_T: next_memory_clock(); return true;
    case Qt::Key_Space: fold_lane(); return true;
    case Qt::Key_P: pin_lane(); return true;
    case Qt::Key_H: hide_lane(); return true;
    case Qt::Key_R: range_of_selection(); return true;
    case Qt::Key_Escape: clear(); return true;
    default: return false;
  }
}

bool TimelineCanvas::press_with_shift(int key) {
  if (move_window(key, kFaster)) return true;
  if (key == Qt::Key_M) return go_to_next_mark(), true;
  if (key == Qt::Key_H) return show_hidden_lanes(), true;
  return false;
}

bool TimelineCanvas::press_with_alt(int key) {
  switch (key) {
    case Qt::Key_Up: select_twin(Twin::rank, -1); return true;
    case Qt::Key_Down: select_twin(Twin::rank, 1); return true;
    case Qt::Key_Left: select_twin(Twin::step, -1); return true;
    case Qt::Key_Right: select_twin(Twin::step, 1); return true;
    default: return false;
  }
}

}  // namespace foreshard::gui
