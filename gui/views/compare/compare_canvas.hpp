// One step of two traces drawn above one another: units and the ribbons between them, the band of a
// prediction's end, drift, lanes in pairs and memory, on an axis that counts from the steps' start.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/models/base/time_axis.hpp"
#include "gui/models/comparison/alignment.hpp"
#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/accessible_canvas.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

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
    baseline_units,
    ribbons,
    candidate_units,
    band,
    drift,
    baseline_lane,
    candidate_lane,
    both_lanes,
    memory
  };
  struct Row {
    RowKind kind;
    double top, height;
    std::size_t lane = 0;  // of TraceComparison::step.lanes
  };

  void lay_out();
  double x_of(bool is_candidate, std::int64_t ns) const;  // of a moment of that side
  QRectF lanes_box(const Row& row) const;
  const StepSide& side(bool is_candidate) const;
  struct RowText {
    QString name, figure;
    QStringList notes;  // below the name
  };
  RowText text_of(const Row& row) const;
  QString band_text() const;
  QString event_text(const Hit& hit) const;

  void paint_row(QPainter& painter, const Row& row) const;
  void paint_header(QPainter& painter, const Row& row, bool is_candidate) const;
  void paint_ruler(QPainter& painter, const Row& row) const;
  void paint_units(QPainter& painter, const Row& row, bool is_candidate) const;
  void paint_ribbons(QPainter& painter, const Row& row) const;
  void paint_band(QPainter& painter, const Row& row) const;
  void paint_drift(QPainter& painter, const Row& row) const;
  void paint_lane(QPainter& painter, const QRectF& box, std::size_t lane, bool is_candidate) const;
  void paint_memory(QPainter& painter, const Row& row) const;
  bool is_selected(bool is_candidate, std::int32_t event) const;

  std::shared_ptr<const TraceComparison> comparison_;
  Arrangement arrangement_ = Arrangement::by_clock;
  Alignment alignment_;
  TimeAxis axis_;
  std::vector<Row> rows_;
  double height_ = 0;
  std::optional<profiler::EventMatch> selected_;
  std::optional<QPointF> pressed_;
  double dragged_to_ = 0;
  bool has_dragged_ = false;
};

}  // namespace foreshard::gui
