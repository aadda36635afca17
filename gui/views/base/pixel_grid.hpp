// Where moments are on the screen, in whole device pixels.
//
// Pixels are counted from an origin that does not move with the window, and moments are rounded to
// them before the window's start is subtracted: panning shifts what is drawn, and changes none of it.
#pragma once

#include <cmath>
#include <cstdint>

#include "gui/models/base/time_axis.hpp"

namespace foreshard::gui {

struct PixelGrid {
  std::int64_t origin_ns = 0;
  double ns_per_pixel = 1;  // of device pixels
  std::int64_t first = 0;   // the pixel at the lanes' left edge
  std::int64_t count = 0;   // that the lanes are wide
  double ratio = 1;         // device pixels per logical one

  // Of what has a clock by which moments come `offset_ns` earlier than along the axis.
  static PixelGrid of(const TimeAxis& axis, double ratio, std::int64_t origin_ns,
                      std::int64_t offset_ns = 0) {
    PixelGrid grid;
    grid.origin_ns = origin_ns;
    grid.ns_per_pixel = axis.ns_per_pixel() / ratio;
    grid.first = std::lround(-axis.pixel_of(origin_ns + offset_ns) * ratio);
    grid.count = std::lround(std::ceil(axis.width() * ratio));
    grid.ratio = ratio;
    return grid;
  }

  std::int64_t pixel(std::int64_t ns) const {  // from the origin
    return std::lround(static_cast<double>(ns - origin_ns) / ns_per_pixel);
  }
  std::int64_t ns(std::int64_t pixel) const {
    return origin_ns + std::lround(static_cast<double>(pixel) * ns_per_pixel);
  }
  // Logical, from the lanes' left edge.
  double x(std::int64_t ns) const { return static_cast<double>(pixel(ns) - first) / ratio; }
};

}  // namespace foreshard::gui
