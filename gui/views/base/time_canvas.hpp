// What the canvases of Timeline, Memory and Compare have in common: an axis of time right of the rows'
// headers, with a ruler above it.
//
// Wheel, keys, drags and gestures move the window of the axis alike in all of them. Cursor, range and
// marks are the session's, and so the same in every view. A canvas whose axis does not count as the
// session's does says where a moment of the session lies on it, and which moment a place of it is.
//
// A frame has, from below: what a canvas paints of itself, the lines of time, what must stay readable
// over them (labels, pills), the ruler, and the card where the pointer rests.
#pragma once

#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <QPixmap>
#include <QTimer>
#include <optional>

#include "gui/models/session/session.hpp"
#include "gui/views/base/accessible_canvas.hpp"
#include "gui/views/base/hover_card.hpp"
#include "gui/views/base/ruler.hpp"

namespace foreshard::gui {

class TimeCanvas : public QAbstractScrollArea, public AccessibleCanvas {
  Q_OBJECT
 public:
  TimeAxis& axis() const { return *axis_; }
  // The selection's time or the range, and once that is shown, what is home.
  void fit();
  // A key that all canvases have; whether it was one.
  bool press(const QKeyEvent& event);
  virtual bool is_busy() const { return is_zooming(); }
  // Whether zooming takes a moment where motion is wished; pictures and timings do without.
  void set_animated(bool animated) { is_animated_ = animated; }
  void set_drags_swapped(bool swapped) { drags_are_swapped_ = swapped; }
  // Whether the cursor is where the pointer is.
  bool is_pointed_at() const { return pointed_.has_value(); }

  // In the viewport:
  virtual double header() const = 0;  // the lanes begin there
  virtual QRectF ruler_box() const;
  virtual QRectF rows_box() const;  // what scrolls
  QRectF card_box() const { return card_box_; }

 Q_SIGNALS:
  void busy_changed();
  void window_changed();
  void cleared();  // Esc, and there is neither card nor range

 protected:
  struct Hovered {
    HoverCard card;
    QRectF box;  // of what it tells; empty: a moment
  };

  // `keeps_picture`: what lies below the lines is painted once for each window, not with each frame.
  TimeCanvas(Session& session, bool keeps_picture, QWidget* parent);

  // What a canvas is asked. Moments count as its axis does unless they are said to be the session's.
  virtual bool is_empty() const = 0;  // nothing but what it paints below
  virtual void paint_below(QPainter& painter, const QRect& dirty, const Ruler& ruler) = 0;
  virtual void paint_above(QPainter& painter, const Ruler& ruler) = 0;
  virtual void label_ruler(
      Ruler& ruler) const = 0;  // title, note and origin; other ticks than of time
  virtual double rows_height() const { return 0; }
  virtual bool has_time() const { return true; }  // else there are neither ranges nor marks
  virtual std::optional<std::int64_t> place_of(std::int64_t session_ns) const { return session_ns; }
  virtual std::optional<traces::Interval> place_of(const traces::Interval& range) const {
    return range;
  }
  virtual std::int64_t moment_at(std::int64_t place) const { return place; }  // the session's
  virtual std::optional<std::int64_t> cursor_place() const;
  // Of the selected event: as the axis is now, or once it is shown.
  virtual std::optional<traces::Interval> selected_span(bool once_shown) const;
  virtual traces::Interval home() const { return session_.steady_step(); }
  virtual traces::Interval whole() const { return session_.everything(); }
  virtual traces::Interval fitting(QPointF at);  // what a double click shows
  virtual std::optional<Hovered> hover(QPointF at) const = 0;
  virtual void click(QPointF at) = 0;
  // Drags that a canvas has of its own.
  virtual bool takes_drag(QPointF) { return false; }
  virtual void drag_own(QPointF) {}
  virtual void drop_own(QPointF) {}
  virtual Qt::CursorShape pointer_at(QPointF at) const;
  virtual void clear();
  virtual void lay_out();
  virtual void follow_axis();
  virtual void repaint_cursor(int x);  // what changes where it is and was

  Session& session() const { return session_; }
  void set_axis(TimeAxis& axis);
  void forget_picture();
  void tell_busy();
  void hide_card();
  void go_to(std::int64_t place);  // in the middle
  void finish_zoom();
  bool is_zooming() const { return zoom_timer_.isActive(); }
  int scrolled() const;
  QRectF lanes_of(const QRectF& box) const { return box.adjusted(header(), 0, 0, 0); }
  double ratio() const { return painted_ratio_.value_or(devicePixelRatioF()); }
  PixelGrid grid() const;
  Ruler ruler() const;
  std::int64_t ns_at(double x) const { return axis_->ns_at(x - header()); }
  double reach_ns() const { return 2 * axis_->ns_per_pixel(); }  // from a box that is still meant
  void paint_as_shapes(QPainter& painter);
  bool paints_shapes() const { return painted_ratio_.has_value(); }
  void paint_grid(QPainter& painter, const QRectF& lanes, const Ruler& ruler) const;
  bool shows_focus() const { return hasFocus() && shows_focus_; }

  bool fitted_selection_ = false;  // F again fits what is home

  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  enum class Drag { none, pan, range, range_start, range_end, mark, own };

  bool move_window(int key, int speed);
  void zoom(double factor, double x);
  void advance_zoom();
  void point_at(std::optional<std::int64_t> place);
  void follow_cursor();
  Drag drag_from(QPointF at, Qt::MouseButton button, Qt::KeyboardModifiers modifiers);
  void drag_to(QPointF at);
  void cancel_drag();
  void set_range(std::int64_t from, std::int64_t to);
  void range_of_selection();
  void toggle_mark();
  void go_to_next_mark();
  void drag_mark(std::int64_t here);
  void drop_mark(QPointF at);
  void show_card();
  void paint(QPainter& painter, const QRect& dirty);

  Session& session_;
  TimeAxis* axis_;
  QMetaObject::Connection follows_axis_;
  bool is_fitting_ = false;

  bool keeps_picture_;
  QPixmap picture_;
  std::optional<double> painted_ratio_;  // of a painter that gets shapes
  bool was_busy_ = false;

  // Zooming takes a moment, so that the eye follows.
  QTimer zoom_timer_;
  QElapsedTimer zoom_clock_;
  double zoom_at_ = 0;    // pixel
  double zoom_left_ = 0;  // logarithm of the factor that is still to come
  double zoom_done_ = 0;  // share of the time that has passed
  bool is_animated_ = true;

  Drag drag_ = Drag::none;
  QPointF press_, last_, mouse_;
  bool has_moved_ = false;
  bool drags_are_swapped_ = false;
  std::int64_t drag_start_ns_ = 0;
  std::size_t held_mark_ = 0;
  traces::Interval window_before_;  // the drag
  std::vector<std::int64_t> marks_before_;

  std::optional<std::int64_t> pointed_;        // under the pointer, which sets the cursor
  std::optional<std::int64_t> cursor_before_;  // to which the cursor returns, the session's
  bool is_pointing_ = false;                   // the change of the cursor is ours
  std::optional<int> drawn_cursor_;            // its pixel

  QTimer dwell_;
  std::optional<Hovered> hovered_;
  QRectF card_box_;
  bool shows_focus_ = false;  // reached by keys
};

}  // namespace foreshard::gui
