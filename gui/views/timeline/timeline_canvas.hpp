// The timeline: minimap, ruler, the lanes of the open documents, the units that are gathered, and
// memory, all along the session's axis.
//
// A frame copies the lanes' tiles and draws text and what follows the pointer over them; nothing that
// takes long runs on the window's thread. canvas_paint.cpp draws.
#pragma once

#include <QAbstractScrollArea>
#include <QTimer>
#include <optional>

#include "gui/models/session/session.hpp"
#include "gui/views/base/accessible_canvas.hpp"
#include "gui/views/timeline/memory_strip.hpp"
#include "gui/views/timeline/minimap.hpp"
#include "gui/views/timeline/row_figures.hpp"
#include "gui/views/timeline/ruler.hpp"
#include "gui/views/timeline/scene.hpp"
#include "gui/views/timeline/tile_cache.hpp"
#include "gui/views/timeline/tile_layer.hpp"
#include "gui/views/timeline/zoom_motion.hpp"

namespace foreshard::gui {

class TimelineCanvas : public QAbstractScrollArea, public AccessibleCanvas {
  Q_OBJECT
 public:
  explicit TimelineCanvas(Session& session, QWidget* parent = nullptr);

  // Everything, as shapes instead of tiles: for painters that write vectors.
  void paint_frame(QPainter& painter);
  bool is_busy() const;
  QString as_text() const;
  void go_to_peak();  // of memory
  void set_animated(bool animated) { motion_.set_animated(animated); }
  void set_drags_swapped(bool swapped) { drags_are_swapped_ = swapped; }

  Scene& scene() { return scene_; }
  const Scene& scene() const { return scene_; }
  // Where things are, in the viewport; tests ask too.
  QRectF row_box(const SceneRow& row) const;
  QRectF event_box(EventId event) const;  // empty: not in view
  QRectF minimap_box() const;
  QRectF ruler_box() const;
  QRectF rows_box() const;
  QRectF memory_box() const;  // with its header
  QRectF card_box() const { return card_box_; }
  std::size_t current_lane() const { return current_lane_; }

  int accessible_rows() const override;
  AccessibleItem accessible_row(int row) const override;
  std::optional<AccessibleItem> accessible_selection() const override;

 Q_SIGNALS:
  void busy_changed();
  void search_left();  // its hits are to be marked no longer

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  // Tab goes to the other trace where there is one, else to the next widget.
  bool focusNextPrevChild(bool next) override;
  bool viewportEvent(QEvent* event) override;
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
  enum class Drag { none, pan, range, range_start, range_end, mark, minimap, header };
  enum class Direction { cause, effect };
  enum class Twin { rank, step };

  // Keys and mouse:
  bool move_window(int key, int speed);
  bool press_plain(int key);
  bool press_with_shift(int key);
  bool press_with_alt(int key);
  Drag drag_from(QPointF at, Qt::MouseButton button, Qt::KeyboardModifiers modifiers);
  void drag_to(QPointF at);
  void follow_mouse(QPointF at);
  Qt::CursorShape pointer_at(QPointF at) const;

  // Commands:
  void zoom(double factor);  // around the pointer where it is over the lanes, else the middle
  void zoom_at(double factor, double x);
  void scroll_rows(int by);
  void fit();
  void fit_at(QPointF at);
  void go_to(std::int64_t ns);
  void click(QPointF at);
  void select(std::optional<EventId> event);
  void select_beside(int by);
  void follow_arrow(Direction direction);
  void select_twin(Twin twin, int by);
  bool select_in_other_trace();  // whether the selected event is there
  void toggle_mark();
  void go_to_next_mark();
  void drag_mark(QPointF at);
  void drop_mark(QPointF at);
  void next_colouring();
  void next_memory_clock();
  void fold_lane();
  void pin_lane();
  void hide_lane();
  void show_hidden_lanes();
  void drag_lane(double y);
  void drop_lane(double y);
  void move_minimap(double x);
  void range_of_selection();
  void clear();

  // Painting:
  void paint(QPainter& painter, const QRect& dirty, bool as_shapes);
  void paint_rows(QPainter& painter, bool as_shapes);
  void paint_lanes_as_shapes(QPainter& painter, const std::vector<TileRow>& rows) const;
  void paint_grid(QPainter& painter, const QRectF& lanes) const;
  void paint_missing(QPainter& painter, const QRectF& lane, const TileRow& row) const;
  void paint_losses_of(QPainter& painter, const QRectF& lane, const TileRow& row) const;
  void paint_selection(QPainter& painter) const;
  void paint_card(QPainter& painter);
  void show_card();
  void hide_card();

  // Follow the session:
  void take_document();
  void take_appearance();
  void take_content();
  TileCache::Fill tile_fill() const;
  void reveal_selection();
  void reveal_document();
  void follow_axis();
  void follow_cursor();
  void lay_out();
  void tell_busy();

  QString row_text(std::size_t row) const;  // title and figure
  double rows_height() const;
  QRectF minimap_lanes() const;
  QRectF lanes_of(const QRectF& box) const;  // without the header
  PixelGrid grid() const;                    // of the current document
  PixelGrid grid_of(int document) const;
  Ruler ruler() const;
  std::int64_t ns_at(double x) const;
  double reach_ns() const;
  const SceneRow* row_at(double y) const;

  Session& session_;
  Scene scene_;
  RowFigures figures_;
  Minimap minimap_;
  MemoryStrip memory_;
  TileCache tiles_;
  TileLayer layer_{tiles_};
  ZoomMotion motion_;

  Drag drag_ = Drag::none;
  QPointF press_, last_, mouse_;
  bool has_moved_ = false;
  bool shows_focus_ = false;  // reached by keys
  bool drags_are_swapped_ = false;
  std::int64_t drag_start_ns_ = 0;
  std::size_t held_mark_ = 0;
  Minimap::Grip minimap_grip_ = Minimap::Grip::none;

  QTimer dwell_;
  std::optional<SceneHit> hovered_;
  HoverCard card_;
  QRectF card_box_;
  std::size_t current_lane_ = 0;  // of the keys, index into the scene's rows
  double dragged_lane_y_ = -1;
  std::optional<std::int64_t> drawn_cursor_;
  std::optional<double> painted_ratio_;  // of the painter that paint_frame() was given
  bool was_busy_ = false;
  int revealed_ = -1;              // document: one that grows leaves the rows where they are
  bool fitted_selection_ = false;  // F again fits the step
};

}  // namespace foreshard::gui
