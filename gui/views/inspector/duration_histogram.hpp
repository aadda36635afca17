// The durations of what was found. Dragging over it keeps those between two durations; a click on
// what is kept lets all back in. With the keyboard: left and right move the brush, with Shift its
// right end.
#pragma once

#include <optional>
#include <vector>

#include "gui/models/timeline/search.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

struct DurationRange {
  double shortest_ns = 0;
  double longest_ns = 0;
  bool operator==(const DurationRange&) const = default;
};

class DurationHistogram : public PaintedWidget {
  Q_OBJECT
 public:
  explicit DurationHistogram(QWidget* parent = nullptr);

  void set_bins(std::vector<DurationBin> bins);
  void set_brush(std::optional<DurationRange> brush);  // tells nobody
  const std::optional<DurationRange>& brush() const { return brush_; }

  QSize sizeHint() const override;

 Q_SIGNALS:
  void brushed();  // by mouse or key: brush() has changed

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QRectF plot() const;
  double bin_count() const { return static_cast<double>(bins_.size()); }
  double ns_at(double bin) const;  // of whole bins: where they begin
  double bin_of(double ns) const;  // with how far into the bin it is
  double bin_at(double x) const;
  double x_of(double ns) const;
  void brush_bins(double from, double to);
  void clear_brush();

  std::vector<DurationBin> bins_;
  std::optional<DurationRange> brush_;
  std::optional<double> pressed_bin_;
  bool is_dragging_ = false;
};

}  // namespace foreshard::gui
