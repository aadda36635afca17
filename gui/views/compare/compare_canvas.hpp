// One step of two traces drawn above one another: units and the ribbons between them, the band of a
// prediction's end, drift, lanes in pairs and memory, on an axis that counts from the steps' start.
// Lanes are the timeline's, from its tiles. A moment of the session lies where it is in one of the two
// steps, in that of the current document first.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/models/comparison/alignment.hpp"
#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/time_canvas.hpp"
#include "gui/views/timeline/tile_layer.hpp"

namespace foreshard::gui {

double lane_left();  // of compared steps: right of the titles

class CompareCanvas : public TimeCanvas {
  Q_OBJECT
 public:
  explicit CompareCanvas(Session& session, QWidget* parent = nullptr);

  void set_comparison(std::shared_ptr<const TraceComparison> comparison);  // null: nothing
  void set_arrangement(Arrangement arrangement);
  Arrangement arrangement() const { return arrangement_; }
  // The pair of which this event is a side is outlined; kNone: none.
  void set_selected(bool is_candidate, std::int32_t event);
  bool is_busy() const override { return TimeCanvas::is_busy() || tiles_.is_busy(); }
  double header() const override { return lane_left(); }
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
  QSize minimumSizeHint() const override { return {480, 48}; }

 Q_SIGNALS:
  void event_chosen(bool is_candidate, int event);
  void height_changed();  // of all rows

 private:
  bool is_empty() const override { return comparison_ == nullptr; }
  void paint_below(QPainter& painter, const QRect& dirty, const Ruler& ruler) override;
  void paint_above(QPainter& painter, const Ruler& ruler) override;
  void label_ruler(Ruler& ruler) const override { ruler.title = text_of(rows_.front()).name; }
  double rows_height() const override { return height_ - ruler_box().height(); }
  std::optional<std::int64_t> place_of(std::int64_t session_ns) const override;
  std::optional<traces::Interval> place_of(const traces::Interval& range) const override;
  std::int64_t moment_at(std::int64_t place) const override;
  std::optional<traces::Interval> selected_span(bool once_shown) const override;
  traces::Interval home() const override;
  traces::Interval whole() const override { return home(); }
  traces::Interval fitting(QPointF at) override;
  std::optional<Hovered> hover(QPointF at) const override;
  void click(QPointF at) override;

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

  // The sides that are open, that of the current document first, and by how much their clocks are
  // behind the session's.
  struct OpenSide {
    bool is_candidate = false;
    std::int64_t offset_ns = 0;
  };
  std::vector<OpenSide> open_sides() const;
  void make_rows();
  std::vector<Strip> strips(const Row& row) const;
  std::optional<Strip> strip_of(bool is_candidate, std::int32_t event) const;
  TileCache::Fill tile_fill() const;
  // What is shorter is not moved by itself: two pixels.
  std::int64_t least_piece_ns() const {
    return static_cast<std::int64_t>(2 * axis().ns_per_pixel());
  }
  void add_tiles(const Strip& strip, std::vector<TileRow>& tiles) const;
  double x_of(bool is_candidate, std::int64_t ns) const;  // of a moment of that side's step
  QRectF lanes_box(const Row& row) const;
  // Of an event, within its strip; as all boxes here from the top of the first row.
  QRectF box_of(const Strip& strip, std::int32_t event) const;
  traces::Interval span_of(const Hit& hit) const;  // along the axis
  const StepSide& side(bool is_candidate) const { return comparison_->step.side(is_candidate); }
  struct RowText {
    QString name, figure;
    QStringList notes;  // below the name
  };
  RowText text_of(const Row& row) const;
  RowText text_of_lane(const Row& row) const;
  bool is_of_step(const Row& row) const;  // a lane of phases or units
  QString band_text() const;
  HoverCard card_of(const Hit& hit) const;

  void paint_row(QPainter& painter, const Row& row) const;
  void paint_header(QPainter& painter, const Row& row, bool is_candidate) const;
  void paint_ribbons(QPainter& painter, const Row& row) const;
  void paint_band(QPainter& painter, const Row& row) const;
  void paint_drift(QPainter& painter, const Row& row) const;
  // Its points in the window; y grows with the drift.
  QPolygonF drift_line() const;
  void paint_memory(QPainter& painter, const Row& row) const;
  void paint_selection(QPainter& painter) const;

  std::shared_ptr<const TraceComparison> comparison_;
  Arrangement arrangement_ = Arrangement::by_clock;
  Alignment alignment_;
  TimeAxis own_axis_;
  std::vector<Row> rows_;
  double height_ = 0;
  TileCache tiles_{std::size_t{32} << 20};
  TileLayer layer_{tiles_};
  std::vector<PlacedLabel> labels_;  // of the picture
  std::optional<profiler::EventMatch> selected_;
};

}  // namespace foreshard::gui
