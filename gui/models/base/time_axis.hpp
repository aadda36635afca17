// The visible window of time, shared by every view that draws along it: one clock, one zoom.
//
// The start is whole nanoseconds and the scale a floating point number: with a start in floating point
// clocks that count from 1970 would lose nanoseconds.
#pragma once

#include <QObject>
#include <cstdint>

#include "traces/intervals.hpp"

namespace foreshard::gui {

constexpr traces::Interval later(const traces::Interval& span, std::int64_t ns) {
  return {span.start_ns + ns, span.end_ns + ns};
}

class TimeAxis : public QObject {
  Q_OBJECT
 public:
  explicit TimeAxis(QObject* parent = nullptr) : QObject(parent) {}

  // All that can be shown, such as a whole trace; the window stays within it, with a margin.
  void set_bounds(traces::Interval bounds);
  traces::Interval bounds() const { return bounds_; }

  // Logical pixels that the window is wide: the lanes' width without their headers.
  void set_width(double pixels);
  double width() const { return width_; }

  void show(traces::Interval window);         // that stretch and nothing else
  void zoom(double factor, double at_pixel);  // > 1: closer; what is at the pixel stays there
  void pan(double pixels);                    // to the right shows later times

  std::int64_t start_ns() const { return start_ns_; }
  std::int64_t end_ns() const { return ns_at(width_); }
  traces::Interval window() const { return {start_ns(), end_ns()}; }
  double ns_per_pixel() const { return ns_per_pixel_; }

  double pixel_of(std::int64_t ns) const {
    return static_cast<double>(ns - start_ns_) / ns_per_pixel_ - fraction_;
  }
  std::int64_t ns_at(double pixel) const;

 Q_SIGNALS:
  void changed();

 private:
  void settle(double start_ns);  // clamps, and tells

  traces::Interval bounds_{0, 1'000'000'000};
  std::int64_t start_ns_ = 0;
  double fraction_ = 0;  // of a pixel, by which the window starts later than start_ns_
  double ns_per_pixel_ = 1e6;
  double width_ = 1000;
};

}  // namespace foreshard::gui
