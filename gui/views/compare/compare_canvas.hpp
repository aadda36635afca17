// One step of two traces drawn above one another: units and the ribbons between them, the band of a
// prediction's end, drift, lanes in pairs and memory, on an axis that counts from the steps' start.
// Lanes are the timeline's, from its tiles.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/models/base/time_axis.hpp"
#include "gui/models/comparison/alignment.hpp"
#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/accessible_canvas.hpp"
#include "gui/views/base/painted_widget.hpp"
#include "gui/views/timeline/tile_layer.hpp"

namespace foreshard::gui {

double lane_left();  // of compared steps: right of the titles

class CompareCanvas : public PaintedWidget, public AccessibleCanvas {
  Q_OBJECT
 public:
  explicit CompareCanvas(QWidget* parent = nullptr);

  void set_comparison(std::shared_ptr<const TraceComparison> comparison);  // null: nothing
  void set_arrangement(Arrangement arrangement);
  Arrangement arrangement() const { return arrangement_; }
  // The pair of which this event is a side is outlined; kNone: none.
  void set_selected(bool is_candidate, std::int32_t event);
  TimeAxis& axis() { return axis_; }
  void fit();
  bool is_busy() const { return tiles_.is_busy(); }
  double row_end(double most) const;  // the lowest one above that height; 0: there is none

  // The event that is drawn there; of its box, for tests.
  struct Hit {
    bool is_candidate = false;
    std::int32_t event = traces::kNone;
  };
  void zoom_to(const Hit& hit);
  std::optional<Hit> event_at(QPointF point) const;
  QPointF centre_of(bool is_candidate, std::int32_t event) const;

  // Its rows; selected is the event with its counterpart.
  int accessible_rows() const override { return static_cast<int>(rows_.size()); }
  AccessibleItem accessible_row(int row) const override;
  std::optional<AccessibleItem> accessible_selection() const override;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {480, sizeHint().height()}; }

 Q_SIGNALS:
  void event_chosen(bool is_candidate, int event);
  void window_changed();
  void height_changed();  // of all rows
  void busy_changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  enum class RowKind : std::uint8_t {
    ruler,
    ribbons,
    band,
    drift,
    baseline_lane,
    candidate_lane,
    both_lanes,  // each in a half of the height
    memory
  };
  struct Row {
    RowKind kind;
    double top, height;
    std::size_t lane = 0;  // of TraceComparison::step.lanes

    bool is_lane() const {
      return kind == RowKind::baseline_lane || kind == RowKind::candidate_lane ||
             kind == RowKind::both_lanes;
    }
  };
  // A side's part of a row of lanes.
  struct Strip {
    std::size_t lane = 0;
    bool is_candidate = false;
    double top = 0, height = 0;
  };

  void lay_out();
  std::vector<Strip> strips(const Row& row) const;
  std::optional<Strip> strip_of(bool is_candidate, std::int32_t event) const;
  TileCache::Fill tile_fill() const;
  // What is shorter is not moved by itself: two pixels.
  std::int64_t least_piece_ns() const {
    return static_cast<std::int64_t>(2 * axis_.ns_per_pixel());
  }
  void add_tiles(const Strip& strip, std::vector<TileRow>& tiles) const;
  double x_of(bool is_candidate, std::int64_t ns) const;  // of a moment of that side's step
  QRectF lanes_box(const Row& row) const;
  // Of an event, within its strip.
  QRectF box_of(const Strip& strip, std::int32_t event) const;
  const StepSide& side(bool is_candidate) const { return comparison_->step.side(is_candidate); }
  struct RowText {
    QString name, figure;
    QStringList notes;  // below the name
  };
  RowText text_of(const Row& row) const;
  RowText text_of_lane(const Row& row) const;
  bool is_of_step(const Row& row) const;  // a lane of phases or units
  QString band_text() const;
  QString event_text(const Hit& hit) const;

  void paint_row(QPainter& painter, const Row& row) const;
  void paint_header(QPainter& painter, const Row& row, bool is_candidate) const;
  void paint_ruler(QPainter& painter, const Row& row) const;
  void paint_ribbons(QPainter& painter, const Row& row) const;
  void paint_band(QPainter& painter, const Row& row) const;
  void paint_drift(QPainter& painter, const Row& row) const;
  // Its points in the window; y grows with the drift.
  QPolygonF drift_line() const;
  void paint_memory(QPainter& painter, const Row& row) const;
  void paint_selection(QPainter& painter) const;
  void tell_busy();

  std::shared_ptr<const TraceComparison> comparison_;
  Arrangement arrangement_ = Arrangement::by_clock;
  Alignment alignment_;
  TimeAxis axis_;
  std::vector<Row> rows_;
  double height_ = 0;
  TileCache tiles_{std::size_t{32} << 20};
  TileLayer layer_{tiles_};
  bool was_busy_ = false;
  std::optional<profiler::EventMatch> selected_;
  std::optional<QPointF> pressed_;
  double dragged_to_ = 0;
  bool has_dragged_ = false;
};

}  // namespace foreshard::gui
