// The ruler above lanes: ticks, the cursor's time, the range with its handles and the marks; and the lines
// of all these over the lanes.
#pragma once

#include <QPainter>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "gui/paint/time_ticks.hpp"
#include "gui/views/base/pixel_grid.hpp"
#include "traces/intervals.hpp"

namespace foreshard::gui {

struct Ruler {
  QString title;               // "Step 2"
  QString note;                // "time from its start"
  std::int64_t origin_ns = 0;  // what is shown as 0
  PixelGrid grid;
  double width = 0;         // of the lanes, logical
  std::vector<Tick> ticks;  // x from the lanes' left edge

  // Along the axis:
  std::optional<std::int64_t> cursor;
  QString cursor_text;  // in its pill
  std::optional<traces::Interval> range;
  std::vector<std::optional<std::int64_t>>
      marks;  // in the selection's order; nothing: off the axis

  void add_times();  // round ones, as ticks
};

// What a place on the ruler takes hold of.
enum class RulerPart { none, range_start, range_end, mark };
struct RulerHit {
  RulerPart part = RulerPart::none;
  std::size_t mark = 0;
};
RulerHit hit_ruler(const Ruler& ruler, double x);

// `box`: the whole row; the lanes begin at `left`.
void paint_ruler(QPainter& painter, const QRectF& box, double left, const Ruler& ruler);

// Over the lanes: the range's tint, its edges, the cursor's and marks' lines.
void paint_time_lines(QPainter& painter, const QRectF& lanes, const Ruler& ruler);

}  // namespace foreshard::gui
