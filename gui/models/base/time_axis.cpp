#include "gui/models/base/time_axis.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {
namespace {

constexpr double kClosestNsPerPixel = 0.02;  // 20 ps: a nanosecond is 50 pixels wide
constexpr double kMargin = 0.02;             // of the bounds that the window may show around them

}  // namespace

void TimeAxis::set_bounds(traces::Interval bounds) {
  bounds.end_ns = std::max(bounds.end_ns, bounds.start_ns + 1);
  bounds_ = bounds;
  settle(static_cast<double>(start_ns_ - bounds_.start_ns));
}

void TimeAxis::set_width(double pixels) {
  pixels = std::max(pixels, 1.0);
  if (pixels == width_) return;
  ns_per_pixel_ *= width_ / pixels;  // the same stretch of time, in the new width
  width_ = pixels;
  settle(static_cast<double>(start_ns_ - bounds_.start_ns));
}

void TimeAxis::show(traces::Interval window) {
  const auto length = std::max<std::int64_t>(window.end_ns - window.start_ns, 1);
  ns_per_pixel_ = static_cast<double>(length) / width_;
  settle(static_cast<double>(window.start_ns - bounds_.start_ns));
}

void TimeAxis::zoom(double factor, double at_pixel) {
  const double at =
      static_cast<double>(start_ns_ - bounds_.start_ns) + (at_pixel + fraction_) * ns_per_pixel_;
  const double most = static_cast<double>(bounds_.end_ns - bounds_.start_ns) * (1 + 2 * kMargin);
  ns_per_pixel_ = std::clamp(ns_per_pixel_ / factor, kClosestNsPerPixel,
                             std::max(most / width_, kClosestNsPerPixel));
  settle(at - at_pixel * ns_per_pixel_);
}

void TimeAxis::pan(double pixels) {
  settle(static_cast<double>(start_ns_ - bounds_.start_ns) + (pixels + fraction_) * ns_per_pixel_);
}

std::int64_t TimeAxis::ns_at(double pixel) const {
  return start_ns_ + std::llround((pixel + fraction_) * ns_per_pixel_);
}

// `start`: nanoseconds after the begin of the bounds.
void TimeAxis::settle(double start) {
  const double length = static_cast<double>(bounds_.end_ns - bounds_.start_ns);
  const double margin = length * kMargin;
  ns_per_pixel_ =
      std::max(std::min(ns_per_pixel_, (length + 2 * margin) / width_), kClosestNsPerPixel);
  const double latest = std::max(length + margin - ns_per_pixel_ * width_, -margin);
  start = std::clamp(start, -margin, latest);
  const double whole = std::floor(start);
  start_ns_ = bounds_.start_ns + static_cast<std::int64_t>(whole);
  fraction_ = (start - whole) / ns_per_pixel_;
  Q_EMIT changed();
}

}  // namespace foreshard::gui
