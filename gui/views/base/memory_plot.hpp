// Draws memory along a time axis: areas by category, the line of what is allocated, the line of
// what is reserved with the free part of it hatched, and the capacity of the device.
//
// The timeline's strip, the memory view and comparisons are made of it; it is no widget.
#pragma once

#include <QColor>
#include <QPainter>
#include <QRectF>
#include <cstdint>
#include <memory>
#include <optional>

#include "gui/models/base/time_axis.hpp"
#include "gui/models/memory/memory_curve.hpp"

namespace foreshard::gui {

class MemoryPlot {
 public:
  std::shared_ptr<const MemoryCurve> curve;
  MemoryClock clock = MemoryClock::device_time;
  std::optional<std::int64_t> capacity;
  bool is_predicted = false;    // lines dashed
  bool is_current = true;       // one of several overlaid that is not is drawn thinner
  std::int64_t shift_ns = 0;    // by which everything is drawn later, to align one run with another
  std::int64_t most_bytes = 0;  // at the top; 0: what shows all of it

  // Of everything: what is reserved or allocated at most, the capacity, and room above.
  std::int64_t bytes_at_top() const;
  double y_of(std::int64_t bytes, const QRectF& area) const;

  // From bottom to top. The area is as wide as the axis.
  void paint_areas(QPainter& painter, const QRectF& area, const TimeAxis& axis) const;
  void paint_labels(QPainter& painter, const QRectF& area, const TimeAxis& axis) const;
  void paint_allocated_line(QPainter& painter, const QRectF& area, const TimeAxis& axis,
                            QColor colour) const;
  void paint_reserved_line(QPainter& painter, const QRectF& area, const TimeAxis& axis) const;
  void paint_capacity_line(QPainter& painter, const QRectF& area) const;

  // What each pixel shows, until the axis moves; the lines and labels of one frame share it.
  const MemoryColumns& columns(const TimeAxis& axis, double width,
                               double pixels_per_column = 1) const;

 private:
  void paint_line(QPainter& painter, const QRectF& area, const TimeAxis& axis, QColor colour,
                  bool of_reserved) const;

  mutable MemoryColumns columns_;
  mutable std::shared_ptr<const MemoryCurve> columns_of_;
  mutable std::vector<std::int64_t> edges_;
  mutable MemoryClock columns_clock_ = MemoryClock::device_time;
};

}  // namespace foreshard::gui
