// What the mouse does on the timeline's canvas.
#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QGestureEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>

#include "gui/views/timeline/timeline_canvas.hpp"

namespace foreshard::gui {
namespace {

constexpr int kDwellMilliseconds = 80;
constexpr double kZoomOfNotch = 1.25;  // a notch of the wheel, 120 of its units
constexpr double kPanOfNotch = 60;     // pixels

}  // namespace

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  hide_card();
  press_ = event->position();
  last_ = press_;
  has_moved_ = false;
  drag_ = drag_from(press_, event->button(), event->modifiers());
  drag_start_ns_ = ns_at(press_.x());
  if (drag_ == Drag::minimap) move_minimap(press_.x());
}

TimelineCanvas::Drag TimelineCanvas::drag_from(QPointF at, Qt::MouseButton button,
                                               Qt::KeyboardModifiers modifiers) {
  if (button == Qt::RightButton || button == Qt::MiddleButton) return Drag::pan;
  if (button != Qt::LeftButton) return Drag::none;
  if (minimap_box().contains(at)) {
    minimap_grip_ = minimap_.grip(session_.axis(), minimap_lanes(), at.x());
    return Drag::minimap;
  }
  if (at.x() < kHeaderWidth) return at.y() < rows_box().top() ? Drag::none : Drag::header;
  if (ruler_box().contains(at)) {
    const RulerHit hit = hit_ruler(ruler(), session_.selection(), at.x() - kHeaderWidth);
    held_mark_ = hit.mark;
    switch (hit.part) {
      case RulerPart::range_start: return Drag::range_start;
      case RulerPart::range_end: return Drag::range_end;
      case RulerPart::mark: return Drag::mark;
      case RulerPart::none: return Drag::range;
    }
  }
  const bool selects_range = modifiers.testFlag(Qt::ShiftModifier) != drags_are_swapped_;
  return selects_range ? Drag::range : Drag::pan;
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (event->buttons() == Qt::NoButton) return follow_mouse(at);
  if (!has_moved_ && (at - press_).manhattanLength() < QApplication::startDragDistance() / 2) return;
  has_moved_ = true;
  drag_to(at);
  last_ = at;
}

void TimelineCanvas::drag_to(QPointF at) {
  Selection& selection = session_.selection();
  const std::int64_t here = ns_at(std::clamp<double>(at.x(), kHeaderWidth, viewport()->width()));
  switch (drag_) {
    case Drag::none: break;
    case Drag::pan:
      motion_.finish();
      session_.axis().pan(last_.x() - at.x());
      verticalScrollBar()->setValue(verticalScrollBar()->value() +
                                    static_cast<int>(std::lround(last_.y() - at.y())));
      break;
    case Drag::range:
      selection.set_range(traces::Interval{std::min(drag_start_ns_, here),
                                           std::max(drag_start_ns_, here)});
      break;
    case Drag::range_start:
    case Drag::range_end: {
      traces::Interval range = *selection.range();
      (drag_ == Drag::range_start ? range.start_ns : range.end_ns) = here;
      if (range.start_ns > range.end_ns) {  // the handles change places
        std::swap(range.start_ns, range.end_ns);
        drag_ = drag_ == Drag::range_start ? Drag::range_end : Drag::range_start;
      }
      selection.set_range(range);
      break;
    }
    case Drag::mark: drag_mark(at); break;
    case Drag::minimap: move_minimap(at.x()); break;
    case Drag::header: drag_lane(at.y()); break;
  }
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = std::exchange(drag_, Drag::none);
  if (drag == Drag::mark && has_moved_) return drop_mark(event->position());
  if (drag == Drag::header && has_moved_) return drop_lane(event->position().y());
  if (has_moved_ || event->button() != Qt::LeftButton) return;
  const bool is_on_ruler = ruler_box().contains(press_);
  if (drag == Drag::header || !is_on_ruler) click(event->position());
  if (is_on_ruler && drag == Drag::range) session_.selection().set_range(std::nullopt);
  if (drag == Drag::mark) go_to(session_.selection().marks().at(held_mark_));
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || event->position().x() < kHeaderWidth) return;
  if (minimap_box().contains(event->position())) {
    return session_.axis().show(session_.everything());
  }
  fit_at(event->position());
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  hide_card();
  const QPointF notches = QPointF(event->angleDelta()) / 120.0;
  if (event->modifiers() & Qt::ControlModifier) {
    zoom_at(std::pow(kZoomOfNotch, notches.y()), event->position().x());
  } else if (event->modifiers() & (Qt::ShiftModifier | Qt::AltModifier)) {
    session_.axis().pan(-kPanOfNotch * (notches.y() + notches.x()));
  } else {
    // Two fingers on a touch pad give pixels, a wheel gives notches.
    const QPoint pixels = event->pixelDelta();
    const double across = pixels.isNull() ? kPanOfNotch * notches.x() : pixels.x();
    const double down = pixels.isNull() ? kPanOfNotch * notches.y() : pixels.y();
    if (across != 0) session_.axis().pan(-across);
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(std::lround(down)));
  }
  event->accept();
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    session_.selection().set_cursor(std::nullopt);
    hide_card();
  } else if (event->type() == QEvent::Gesture) {
    if (QGesture* gesture = static_cast<QGestureEvent*>(event)->gesture(Qt::PinchGesture)) {
      const auto* pinch = static_cast<QPinchGesture*>(gesture);
      const QPointF centre = viewport()->mapFromGlobal(pinch->centerPoint());
      session_.axis().zoom(pinch->scaleFactor(), centre.x() - kHeaderWidth);
      return true;
    }
  } else if (event->type() == QEvent::NativeGesture) {
    const auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() == Qt::ZoomNativeGesture) {
      session_.axis().zoom(1 + gesture->value(), gesture->position().x() - kHeaderWidth);
      return true;
    }
  }
  return QAbstractScrollArea::viewportEvent(event);
}

// Without a button: the cursor's time, the shape of the pointer, and the card after a while.
void TimelineCanvas::follow_mouse(QPointF at) {
  mouse_ = at;
  const bool is_over_lanes = at.x() >= kHeaderWidth && at.y() >= ruler_box().top();
  session_.selection().set_cursor(is_over_lanes ? std::optional(ns_at(at.x())) : std::nullopt);
  viewport()->setCursor(pointer_at(at));
  hide_card();
  dwell_.start(kDwellMilliseconds);
}

Qt::CursorShape TimelineCanvas::pointer_at(QPointF at) const {
  if (minimap_box().contains(at)) {
    switch (minimap_.grip(session_.axis(), minimap_lanes(), at.x())) {
      case Minimap::Grip::start:
      case Minimap::Grip::end: return Qt::SizeHorCursor;
      case Minimap::Grip::window: return Qt::OpenHandCursor;
      case Minimap::Grip::none: return Qt::ArrowCursor;
    }
  }
  if (ruler_box().contains(at) && at.x() >= kHeaderWidth) {
    const RulerHit hit = hit_ruler(ruler(), session_.selection(), at.x() - kHeaderWidth);
    return hit.part == RulerPart::none ? Qt::ArrowCursor : Qt::SizeHorCursor;
  }
  return Qt::ArrowCursor;
}

}  // namespace foreshard::gui
