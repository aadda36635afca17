#include "gui/views/base/time_canvas.hpp"

#include <QApplication>
#include <QGestureEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/base/precise_time.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kRulerHeight = 24;     // at the usual size of text
constexpr double kFitMargin = 0.08;  // of what is fitted, on each side
constexpr int kRowStep = 44;
constexpr double kZoomStep = 1.3;      // by W and S
constexpr double kPanShare = 1.0 / 8;  // of the window, by A and D
constexpr int kFaster = 4;             // with Shift
constexpr int kDwellMilliseconds = 80;
constexpr double kZoomOfNotch = 1.25;  // a notch of the wheel, 120 of its units
constexpr double kPanOfNotch = 60;     // pixels
constexpr double kZoomMilliseconds = 90;
constexpr int kFrameMilliseconds = 12;

traces::Interval with_margin(traces::Interval span) {
  const auto margin = static_cast<std::int64_t>(
      std::ceil(kFitMargin * static_cast<double>(span.end_ns - span.start_ns)));
  return {span.start_ns - margin, span.end_ns + margin};
}

double eased(double share) {
  return 1 - (1 - share) * (1 - share);
}

}  // namespace

TimeCanvas::TimeCanvas(Session& session, bool keeps_picture, QWidget* parent)
    : QAbstractScrollArea(parent),
      session_(session),
      axis_(&session.axis()),
      keeps_picture_(keeps_picture) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  viewport()->grabGesture(Qt::PinchGesture);
  dwell_.setSingleShot(true);
  zoom_timer_.setTimerType(Qt::PreciseTimer);
  zoom_timer_.setInterval(kFrameMilliseconds);
  connect(&dwell_, &QTimer::timeout, this, &TimeCanvas::show_card);
  connect(&zoom_timer_, &QTimer::timeout, this, &TimeCanvas::advance_zoom);
  const auto repaint = [this] { viewport()->update(); };
  connect(&session.selection(), &Selection::range_changed, this, repaint);
  connect(&session.selection(), &Selection::marks_changed, this, repaint);
  connect(&session.selection(), &Selection::cursor_changed, this, [this] {
    if (!is_pointing_) pointed_.reset();  // another view has set it
    follow_cursor();
  });
}

void TimeCanvas::set_axis(TimeAxis& axis) {
  if (follows_axis_ && axis_ == &axis) return;
  finish_zoom();
  disconnect(follows_axis_);
  axis_ = &axis;
  follows_axis_ = connect(axis_, &TimeAxis::changed, this, [this] {
    hide_card();
    follow_axis();
    Q_EMIT window_changed();
  });
}

void TimeCanvas::follow_axis() {
  if (!is_fitting_) lay_out();
  forget_picture();
}

// Other views share the axis: it is as wide as the one that is shown.
void TimeCanvas::lay_out() {
  if (isVisible() && !std::exchange(is_fitting_, true)) {
    axis_->set_width(std::max(1.0, viewport()->width() - header()));
    is_fitting_ = false;
  }
  const double hidden = rows_height() - rows_box().height();
  verticalScrollBar()->setRange(0, static_cast<int>(std::ceil(std::max(hidden, 0.0))));
  verticalScrollBar()->setPageStep(static_cast<int>(rows_box().height()));
  forget_picture();
}

void TimeCanvas::showEvent(QShowEvent* event) {
  QAbstractScrollArea::showEvent(event);
  lay_out();
}

void TimeCanvas::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  lay_out();
}

void TimeCanvas::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  forget_picture();
}

void TimeCanvas::scrollContentsBy(int, int) {
  hide_card();
  forget_picture();
}

int TimeCanvas::scrolled() const {
  return verticalScrollBar()->value();
}

void TimeCanvas::tell_busy() {
  if (std::exchange(was_busy_, is_busy()) != was_busy_) Q_EMIT busy_changed();
}

QRectF TimeCanvas::ruler_box() const {
  return QRectF(0, 0, viewport()->width(), scaled(kRulerHeight));
}

QRectF TimeCanvas::rows_box() const {
  return QRectF(viewport()->rect()).adjusted(0, ruler_box().bottom(), 0, 0);
}

PixelGrid TimeCanvas::grid() const {
  return PixelGrid::of(*axis_, ratio(), axis_->bounds().start_ns);
}

Ruler TimeCanvas::ruler() const {
  Ruler ruler;
  ruler.grid = grid();
  ruler.width = axis_->width();
  ruler.cursor = cursor_place();
  if (has_time()) {
    const Selection& selection = session_.selection();
    if (selection.range()) ruler.range = place_of(*selection.range());
    for (const std::int64_t mark : selection.marks()) ruler.marks.push_back(place_of(mark));
  }
  label_ruler(ruler);
  if (ruler.cursor && ruler.cursor_text.isEmpty()) {
    ruler.cursor_text =
        precise_time(static_cast<double>(*ruler.cursor - ruler.origin_ns), axis_->ns_per_pixel())
            .text();
  }
  if (ruler.ticks.empty()) ruler.add_times();
  return ruler;
}

// Painting:

void TimeCanvas::forget_picture() {
  picture_ = QPixmap();
  viewport()->update();
}

void TimeCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  paint(painter, event->rect());
  tell_busy();
}

void TimeCanvas::paint_as_shapes(QPainter& painter) {
  finish_zoom();
  painted_ratio_ = painter.device()->devicePixelRatioF();
  paint(painter, viewport()->rect());
  painted_ratio_.reset();
}

void TimeCanvas::paint(QPainter& painter, const QRect& dirty) {
  painter.fillRect(dirty, theme()[Role::canvas]);
  const Ruler now = is_empty() ? Ruler() : ruler();
  if (keeps_picture_ && painter.paintEngine()->type() != QPaintEngine::SVG) {
    if (picture_.isNull() || picture_.devicePixelRatio() != ratio()) {
      picture_ = QPixmap(viewport()->size() * ratio());
      picture_.setDevicePixelRatio(ratio());
      picture_.fill(theme()[Role::canvas]);
      QPainter below(&picture_);
      paint_below(below, viewport()->rect(), now);
    }
    painter.drawPixmap(QRectF(dirty), picture_,
                       QRectF(QPointF(dirty.topLeft()) * ratio(), QSizeF(dirty.size()) * ratio()));
  } else {
    paint_below(painter, dirty, now);
  }
  if (is_empty()) return;
  const QRectF below_ruler(header(), ruler_box().bottom(), axis_->width(),
                           viewport()->height() - ruler_box().bottom());
  paint_time_lines(painter, below_ruler, now);
  paint_above(painter, now);
  paint_ruler(painter, ruler_box(), header(), now);
  if (shows_focus() && !paints_shapes()) {
    painter.setPen(QPen(theme()[Role::focus], 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(viewport()->rect()).adjusted(1, 1, -1, -1));
  }
  if (!hovered_) return;
  if (!hovered_->box.isEmpty()) {
    painter.save();
    painter.setClipRect(lanes_of(rows_box()), Qt::IntersectClip);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme()[Role::selection], 1));
    painter.drawRect(hovered_->box.adjusted(0.5, 0.5, -0.5, -0.5));
    painter.restore();
  }
  paint_hover_card(painter, card_box_, hovered_->card);
}

void TimeCanvas::paint_grid(QPainter& painter, const QRectF& lanes, const Ruler& ruler) const {
  const double hairline = 1 / painter.device()->devicePixelRatioF();
  for (const Tick& tick : ruler.ticks) {
    if (tick.text.isEmpty()) continue;
    painter.fillRect(QRectF(lanes.left() + tick.pixel, lanes.top(), hairline, lanes.height()),
                     theme()[Role::grid]);
  }
}

void TimeCanvas::show_card() {
  if (mouse_.x() < header() || !viewport()->underMouse() || is_empty()) return;
  hovered_ = hover(mouse_);
  if (!hovered_) return;
  const QRectF own = hovered_->box.isEmpty() ? QRectF(mouse_, QSizeF(1, 1)) : hovered_->box;
  card_box_ = place_card(card_size(hovered_->card), own, mouse_, viewport()->rect());
  viewport()->update();
}

void TimeCanvas::hide_card() {
  dwell_.stop();
  if (!hovered_) return;
  hovered_.reset();
  card_box_ = {};
  viewport()->update();
}

// The cursor:

std::optional<std::int64_t> TimeCanvas::cursor_place() const {
  if (pointed_) return pointed_;
  const auto& cursor = session_.selection().cursor_ns();
  return cursor ? place_of(*cursor) : std::nullopt;
}

// Where the pointer leaves, the cursor returns to where it was set.
void TimeCanvas::point_at(std::optional<std::int64_t> place) {
  if (!pointed_ && !place) return;
  if (!pointed_) cursor_before_ = session_.selection().cursor_ns();
  pointed_ = place;
  is_pointing_ = true;
  session_.selection().set_cursor(place ? std::optional(moment_at(*place)) : cursor_before_);
  is_pointing_ = false;
  follow_cursor();
}

// Only what the cursor covered and covers.
void TimeCanvas::follow_cursor() {
  const auto place = is_empty() ? std::nullopt : cursor_place();
  const std::optional<int> now = place ? std::optional(static_cast<int>(std::clamp(
                                             header() + axis_->pixel_of(*place), -1e3, 1e5)))
                                       : std::nullopt;
  for (const auto& x : {drawn_cursor_, now}) {
    if (x) repaint_cursor(*x);
  }
  drawn_cursor_ = now;
}

void TimeCanvas::repaint_cursor(int x) {
  const int half = scaled(120);  // of its pill, and of the tick's text that makes room for it
  viewport()->update(x - 2, 0, 4, viewport()->height());
  viewport()->update(
      QRectF(x - half, ruler_box().top(), 2 * half, ruler_box().height() + 4).toRect());
}

// The window:

void TimeCanvas::zoom(double factor, double x) {
  const double at = std::clamp(x - header(), 0.0, axis_->width());
  if (!is_animated_ || Appearance::instance().has_less_motion()) {
    axis_->zoom(factor, at);
    return;
  }
  zoom_left_ += std::log(factor);
  zoom_at_ = at;
  zoom_done_ = 0;
  zoom_clock_.start();
  if (!is_zooming()) zoom_timer_.start();
  tell_busy();
}

void TimeCanvas::finish_zoom() {
  if (!is_zooming()) return;
  zoom_timer_.stop();
  axis_->zoom(std::exp(std::exchange(zoom_left_, 0)), zoom_at_);
  viewport()->update();
  tell_busy();
}

void TimeCanvas::advance_zoom() {
  const double share =
      std::min(static_cast<double>(zoom_clock_.elapsed()) / kZoomMilliseconds, 1.0);
  if (share >= 1) return finish_zoom();
  const double step = zoom_left_ * (eased(share) - eased(zoom_done_)) / (1 - eased(zoom_done_));
  zoom_done_ = share;
  zoom_left_ -= step;
  axis_->zoom(std::exp(step), zoom_at_);
}

void TimeCanvas::go_to(std::int64_t place) {
  axis_->pan(axis_->pixel_of(place) - axis_->width() / 2);
}

std::optional<traces::Interval> TimeCanvas::selected_span(bool once_shown) const {
  const auto& event = session_.selection().event();
  if (!event || !has_time()) return std::nullopt;
  return once_shown ? session_.span_there(*event) : session_.span(*event);
}

void TimeCanvas::fit() {
  finish_zoom();
  std::optional<traces::Interval> wanted = selected_span(true);
  if (wanted) wanted = with_margin(*wanted);
  if (!wanted && has_time() && session_.selection().range()) {
    wanted = place_of(*session_.selection().range());
  }
  const bool fits_selection = wanted && !fitted_selection_;
  axis_->show(fits_selection ? *wanted : home());
  fitted_selection_ = fits_selection;
}

traces::Interval TimeCanvas::fitting(QPointF) {
  return home();
}

void TimeCanvas::clear() {
  Selection& selection = session_.selection();
  if (selection.range()) return selection.set_range(std::nullopt);
  selection.select(std::nullopt);
  selection.set_unit({});
  Q_EMIT cleared();
}

// Range and marks:

void TimeCanvas::set_range(std::int64_t from, std::int64_t to) {
  session_.selection().set_range(traces::Interval{moment_at(from), moment_at(to)});
}

void TimeCanvas::range_of_selection() {
  if (!has_time()) return;
  if (const auto span = selected_span(false)) set_range(span->start_ns, span->end_ns);
}

void TimeCanvas::toggle_mark() {
  if (!has_time()) return;
  const auto& cursor = session_.selection().cursor_ns();
  const auto span = selected_span(false);
  const std::int64_t at =
      cursor ? *cursor : moment_at(span ? span->start_ns : axis_->ns_at(axis_->width() / 2));
  session_.selection().toggle_mark(at, static_cast<std::int64_t>(4 * axis_->ns_per_pixel()));
}

// The first after the window's middle, and from the last one the first again.
void TimeCanvas::go_to_next_mark() {
  std::vector<std::int64_t> places;
  for (const auto& mark : ruler().marks) {
    if (mark) places.push_back(*mark);
  }
  if (places.empty()) return;
  const auto next = std::ranges::upper_bound(places, axis_->ns_at(axis_->width() / 2 + 1));
  go_to(next == places.end() ? places.front() : *next);
}

void TimeCanvas::drag_mark(std::int64_t here) {
  std::vector<std::int64_t> marks = session_.selection().marks();
  if (held_mark_ >= marks.size()) return;
  marks[held_mark_] = moment_at(here);
  std::ranges::sort(marks);
  held_mark_ =
      static_cast<std::size_t>(std::ranges::lower_bound(marks, moment_at(here)) - marks.begin());
  session_.selection().set_marks(std::move(marks));
}

// A mark that is let go of off the ruler is removed.
void TimeCanvas::drop_mark(QPointF at) {
  if (ruler_box().adjusted(0, -8, 0, 8).contains(at)) return;
  std::vector<std::int64_t> marks = session_.selection().marks();
  if (held_mark_ < marks.size())
    marks.erase(marks.begin() + static_cast<std::ptrdiff_t>(held_mark_));
  session_.selection().set_marks(std::move(marks));
}

// Keys:

void TimeCanvas::focusInEvent(QFocusEvent* event) {
  shows_focus_ = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
  QAbstractScrollArea::focusInEvent(event);
}

void TimeCanvas::keyPressEvent(QKeyEvent* event) {
  event->setAccepted(press(*event));  // else it is for the view
}

// What moves the window; `speed` times as far.
bool TimeCanvas::move_window(int key, int speed) {
  const double pan = speed * kPanShare * axis_->width();
  const auto zoom_by = [&](double factor) {
    const auto cursor = cursor_place();
    const double at = cursor ? axis_->pixel_of(*cursor) : -1;
    zoom(factor, header() + (at >= 0 && at <= axis_->width() ? at : axis_->width() / 2));
  };
  QScrollBar& rows = *verticalScrollBar();
  switch (key) {
    case Qt::Key_W: zoom_by(std::pow(kZoomStep, speed)); return true;
    case Qt::Key_S: zoom_by(std::pow(kZoomStep, -speed)); return true;
    case Qt::Key_A:
    case Qt::Key_Left: axis_->pan(-pan); return true;
    case Qt::Key_D:
    case Qt::Key_Right: axis_->pan(pan); return true;
    case Qt::Key_Up: rows.setValue(rows.value() - speed * kRowStep); return true;
    case Qt::Key_Down: rows.setValue(rows.value() + speed * kRowStep); return true;
    default: return false;
  }
}

bool TimeCanvas::press(const QKeyEvent& event) {
  if (is_empty()) return false;
  const Qt::KeyboardModifiers modifiers = event.modifiers() & ~Qt::KeypadModifier;
  if (modifiers == Qt::ShiftModifier) {
    if (move_window(event.key(), kFaster)) return true;
    if (event.key() != Qt::Key_M) return false;
    go_to_next_mark();
    return true;
  }
  if (modifiers != Qt::NoModifier) return false;
  if (move_window(event.key(), 1)) return true;
  switch (event.key()) {
    case Qt::Key_F: fit(); return true;
    case Qt::Key_0:
      finish_zoom();
      axis_->show(whole());
      return true;
    case Qt::Key_M: toggle_mark(); return true;
    case Qt::Key_R: range_of_selection(); return true;
    case Qt::Key_Escape:
      if (drag_ != Drag::none) {
        cancel_drag();
      } else if (hovered_) {
        hide_card();
      } else {
        clear();
      }
      return true;
    default: return false;
  }
}

// The mouse:

void TimeCanvas::mousePressEvent(QMouseEvent* event) {
  if (is_empty()) return;
  hide_card();
  setFocus(Qt::MouseFocusReason);
  press_ = last_ = event->position();
  has_moved_ = false;
  window_before_ = axis_->window();
  marks_before_ = session_.selection().marks();
  drag_ = drag_from(press_, event->button(), event->modifiers());
  drag_start_ns_ = ns_at(press_.x());
}

TimeCanvas::Drag TimeCanvas::drag_from(QPointF at, Qt::MouseButton button,
                                       Qt::KeyboardModifiers modifiers) {
  if (button == Qt::RightButton || button == Qt::MiddleButton) return Drag::pan;
  if (button != Qt::LeftButton) return Drag::none;
  if (takes_drag(at)) return Drag::own;
  if (at.x() < header()) return Drag::none;
  if (!has_time()) return Drag::pan;
  if (ruler_box().contains(at)) {
    const RulerHit hit = hit_ruler(ruler(), at.x() - header());
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

void TimeCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (is_empty()) return point_at(std::nullopt);
  const QPointF at = event->position();
  if (event->buttons() == Qt::NoButton) {
    mouse_ = at;
    const bool is_over_lanes = at.x() >= header() && at.y() >= ruler_box().top();
    point_at(is_over_lanes ? std::optional(ns_at(at.x())) : std::nullopt);
    viewport()->setCursor(pointer_at(at));
    hide_card();
    dwell_.start(kDwellMilliseconds);
    return;
  }
  if (!has_moved_ && (at - press_).manhattanLength() < QApplication::startDragDistance() / 2)
    return;
  has_moved_ = true;
  drag_to(at);
  last_ = at;
}

void TimeCanvas::drag_to(QPointF at) {
  const std::int64_t here = ns_at(std::clamp<double>(at.x(), header(), viewport()->width()));
  switch (drag_) {
    case Drag::none: break;
    case Drag::pan:
      finish_zoom();
      axis_->pan(last_.x() - at.x());
      verticalScrollBar()->setValue(scrolled() + static_cast<int>(std::lround(last_.y() - at.y())));
      break;
    case Drag::range:
      set_range(std::min(drag_start_ns_, here), std::max(drag_start_ns_, here));
      break;
    case Drag::range_start:
    case Drag::range_end: {
      if (!session_.selection().range()) break;  // another view has cleared it
      traces::Interval range = *session_.selection().range();
      (drag_ == Drag::range_start ? range.start_ns : range.end_ns) = moment_at(here);
      if (range.start_ns > range.end_ns) {  // the handles change places
        std::swap(range.start_ns, range.end_ns);
        drag_ = drag_ == Drag::range_start ? Drag::range_end : Drag::range_start;
      }
      session_.selection().set_range(range);
      break;
    }
    case Drag::mark: drag_mark(here); break;
    case Drag::own: drag_own(at); break;
  }
}

// A range that is being dragged is dropped; window and marks are as they were.
void TimeCanvas::cancel_drag() {
  const Drag drag = std::exchange(drag_, Drag::none);
  has_moved_ = true;  // its release is no click
  session_.selection().set_marks(marks_before_);
  if (drag == Drag::pan) axis_->show(window_before_);
  if (drag == Drag::range || drag == Drag::range_start || drag == Drag::range_end)
    session_.selection().set_range(std::nullopt);
}

void TimeCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = std::exchange(drag_, Drag::none);
  if (is_empty()) return;
  if (drag == Drag::mark && has_moved_) return drop_mark(event->position());
  if (drag == Drag::own && has_moved_) return drop_own(event->position());
  if (has_moved_ || event->button() != Qt::LeftButton) return;
  if (!ruler_box().contains(press_)) return click(event->position());
  if (drag == Drag::range) session_.selection().set_range(std::nullopt);
  const auto& marks = session_.selection().marks();
  if (drag != Drag::mark || held_mark_ >= marks.size()) return;  // a key may have removed it
  if (const auto place = place_of(marks[held_mark_])) go_to(*place);
}

void TimeCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (is_empty() || event->button() != Qt::LeftButton || event->position().x() < header()) return;
  finish_zoom();
  has_moved_ = true;  // its release is no click
  fitted_selection_ = false;
  const traces::Interval wanted = fitting(event->position());
  axis_->show(fitted_selection_ ? with_margin(wanted) : wanted);
}

void TimeCanvas::wheelEvent(QWheelEvent* event) {
  hide_card();
  const QPointF notches = QPointF(event->angleDelta()) / 120.0;
  if (event->modifiers() & Qt::ControlModifier) {
    zoom(std::pow(kZoomOfNotch, notches.y()), event->position().x());
  } else if (event->modifiers() & (Qt::ShiftModifier | Qt::AltModifier)) {
    axis_->pan(-kPanOfNotch * (notches.y() + notches.x()));
  } else {
    // Two fingers on a touch pad give pixels, a wheel gives notches.
    const QPoint pixels = event->pixelDelta();
    const double across = pixels.isNull() ? kPanOfNotch * notches.x() : pixels.x();
    const double down = pixels.isNull() ? kPanOfNotch * notches.y() : pixels.y();
    if (across != 0) axis_->pan(-across);
    verticalScrollBar()->setValue(scrolled() - static_cast<int>(std::lround(down)));
  }
  event->accept();
}

bool TimeCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    if (isVisible()) {
      point_at(std::nullopt);
    } else {
      pointed_.reset();  // another view is shown, with the same cursor
    }
    hide_card();
  } else if (event->type() == QEvent::Gesture) {
    if (QGesture* gesture = static_cast<QGestureEvent*>(event)->gesture(Qt::PinchGesture)) {
      const auto* pinch = static_cast<QPinchGesture*>(gesture);
      const QPointF centre = viewport()->mapFromGlobal(pinch->centerPoint());
      axis_->zoom(pinch->scaleFactor(), centre.x() - header());
      return true;
    }
  } else if (event->type() == QEvent::NativeGesture) {
    const auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() == Qt::ZoomNativeGesture) {
      axis_->zoom(1 + gesture->value(), gesture->position().x() - header());
      return true;
    }
  }
  return QAbstractScrollArea::viewportEvent(event);
}

Qt::CursorShape TimeCanvas::pointer_at(QPointF at) const {
  const bool is_on_ruler = has_time() && ruler_box().contains(at) && at.x() >= header();
  return is_on_ruler && hit_ruler(ruler(), at.x() - header()).part != RulerPart::none
             ? Qt::SizeHorCursor
             : Qt::ArrowCursor;
}

}  // namespace foreshard::gui
