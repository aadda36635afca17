// Memory over the step: the curve of what is allocated for every variant, what the present one has
// reserved, and the capacity of its device.
#pragma once

#include <vector>

#include "gui/views/base/painted_widget.hpp"
#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {

class MemoryOverlay : public PaintedWidget {
  Q_OBJECT
 public:
  explicit MemoryOverlay(QWidget* parent = nullptr);

  void set_variants(std::vector<Variant> variants);
  void set_stale(bool is_stale);
  // Along the share of each step, or its time.
  void set_in_time(bool in_time);
  // Up to the capacity of the device, or no higher than what is used, where small changes are seen.
  void set_fits_data(bool fits_data);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  bool in_gib() const;  // MiB otherwise
  QRectF area() const;
  double x_of(const Variant& variant, std::int64_t position) const;
  double y_of(std::int64_t bytes) const;
  double end_of(const Variant& variant) const;
  StepColumns columns_of(const Variant& variant) const;
  void measure();
  void paint_axes(QPainter& painter) const;
  void paint_curve(QPainter& painter, const Variant& variant) const;
  void paint_badge(QPainter& painter, const Variant& variant) const;
  void paint_limits(QPainter& painter, const Variant& now) const;

  std::vector<Variant> variants_;
  bool is_stale_ = false, in_time_ = false, fits_data_ = false;
  std::int64_t top_ = 1, longest_ns_ = 1;
};

}  // namespace foreshard::gui
