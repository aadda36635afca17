// The ruler: times from the start of a step, the cursor's time, the selected range with its handles,
// and the marks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <QPainter>
#include <QString>

#include "gui/models/base/selection.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/timeline/pixel_grid.hpp"

namespace foreshard::gui {

struct Ruler {
  QString title;               // "Step 2"
  QString note;                // "time from its start"
  std::int64_t origin_ns = 0;  // what is shown as 0
  PixelGrid grid;
  double width = 0;  // of the lanes, logical

  std::vector<Tick> ticks() const;  // x from the lanes' left edge
};

// What a place on the ruler takes hold of.
enum class RulerPart { none, range_start, range_end, mark };
struct RulerHit {
  RulerPart part = RulerPart::none;
  std::size_t mark = 0;
};
RulerHit hit_ruler(const Ruler& ruler, const Selection& selection, double x);

// `box`: the whole row; the lanes begin at `left`.
void paint_ruler(QPainter& painter, const QRectF& box, double left, const Ruler& ruler,
                 const Selection& selection);

// Over the lanes, from `top` to `bottom`: the range's tint, its edges, the cursor's and marks' lines.
void paint_time_lines(QPainter& painter, const QRectF& lanes, const Ruler& ruler,
                      const Selection& selection);

}  // namespace foreshard::gui
