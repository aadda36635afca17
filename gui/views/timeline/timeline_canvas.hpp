// The timeline: minimap, ruler, the lanes of the open documents, the units that are gathered, and
// memory, all along the session's axis.
//
// A frame copies the lanes' tiles and draws text and what follows the pointer over them; nothing that
// takes long runs on the window's thread.
#pragma once

#include <optional>

#include "gui/views/base/time_canvas.hpp"
#include "gui/views/timeline/memory_strip.hpp"
#include "gui/views/timeline/minimap.hpp"
#include "gui/views/timeline/row_figures.hpp"
#include "gui/views/timeline/scene.hpp"
#include "gui/views/timeline/tile_cache.hpp"
#include "gui/views/timeline/tile_layer.hpp"

namespace foreshard::gui {

class TimelineCanvas : public TimeCanvas {
  Q_OBJECT
 public:
  explicit TimelineCanvas(Session& session, QWidget* parent = nullptr);

  // Everything, as shapes instead of tiles: for painters that write vectors.
  void paint_frame(QPainter& painter) { paint_as_shapes(painter); }
  bool is_busy() const override;
  QString as_text() const;
  void go_to_peak();  // of memory

  Scene& scene() { return scene_; }
  const Scene& scene() const { return scene_; }
  // Where things are, in the viewport; tests ask too.
  QRectF row_box(const SceneRow& row) const;
  QRectF event_box(EventId event) const;  // empty: not in view
  QRectF minimap_box() const;
  QRectF memory_box() const;  // with its header
  double header() const override { return header_width(); }
  QRectF ruler_box() const override;
  QRectF rows_box() const override;
  std::size_t current_lane() const { return current_lane_; }

  int accessible_rows() const override;
  AccessibleItem accessible_row(int row) const override;
  std::optional<AccessibleItem> accessible_selection() const override;

 Q_SIGNALS:
  void search_left();  // its hits are to be marked no longer

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  // Tab goes to the other trace where there is one, else to the next widget.
  bool focusNextPrevChild(bool next) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  enum class Direction { cause, effect };
  enum class Twin { rank, step };

  bool is_empty() const override { return session().current() == nullptr; }
  void paint_below(QPainter& painter, const QRect& dirty, const Ruler& ruler) override;
  void paint_above(QPainter& painter, const Ruler& ruler) override;
  void label_ruler(Ruler& ruler) const override;
  double rows_height() const override { return scene_.height(); }
  traces::Interval fitting(QPointF at) override;
  std::optional<Hovered> hover(QPointF at) const override;
  void click(QPointF at) override;
  bool takes_drag(QPointF at) override;
  void drag_own(QPointF at) override;
  void drop_own(QPointF at) override;
  Qt::CursorShape pointer_at(QPointF at) const override;
  void clear() override;
  void lay_out() override;
  void follow_axis() override;
  void repaint_cursor(int x) override;

  bool press_plain(int key);
  bool press_with_alt(int key);

  // Commands:
  void select(std::optional<EventId> event);
  void select_beside(int by);
  void follow_arrow(Direction direction);
  void select_twin(Twin twin, int by);
  bool select_in_other_trace();  // whether the selected event is there
  void next_colouring();
  void move_minimap(double x);
  // What a command does to the row of the keys.
  void change_lane(void (Scene::*change)(std::size_t));

  void paint_rows(QPainter& painter, const Ruler& ruler);
  void paint_lanes_as_shapes(QPainter& painter, const std::vector<TileRow>& rows);
  void paint_missing(QPainter& painter, const QRectF& lane, const TileRow& row) const;
  void paint_dropped_ranges_of(QPainter& painter, const QRectF& lane, const TileRow& row) const;
  void paint_selection(QPainter& painter) const;

  // Follow the session:
  void take_document();
  void take_appearance();
  void take_content();
  TileCache::Fill tile_fill() const;
  void reveal_selection();
  void reveal_document();

  QString row_text(std::size_t row) const;  // title and figure
  QRectF minimap_lanes() const;
  PixelGrid grid_of(int document) const;
  const SceneRow* row_at(double y) const;
  std::optional<SceneHit> hit_at(QPointF at) const;

  Scene scene_;
  RowFigures figures_;
  Minimap minimap_;
  MemoryStrip memory_;
  TileCache tiles_;
  TileLayer layer_{tiles_};
  std::vector<PlacedLabel> labels_;                  // of the frame
  std::vector<std::vector<BoxLabel>> shape_labels_;  // to which they point, of a frame of shapes

  std::optional<Minimap::Grip> minimap_grip_;  // nothing: what is dragged is a header
  QPointF grabbed_;
  double minimap_x_ = 0;
  std::size_t current_lane_ = 0;  // of the keys, index into the scene's rows
  double dragged_lane_y_ = -1;
  int revealed_ = -1;  // document: one that grows leaves the rows where they are
};

}  // namespace foreshard::gui
