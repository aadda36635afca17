// The whole trace in one row: its steps by name and phase, and the visible window in a frame. It is
// the timeline's horizontal scroll bar: the frame is dragged, and so are its edges.
#pragma once

#include <QImage>
#include <QPainter>

#include "gui/models/base/time_axis.hpp"
#include "gui/views/timeline/scene.hpp"

namespace foreshard::gui {

class Minimap {
 public:
  enum class Grip { none, start, window, end };

  // What is at `x`; `lanes` is the part of the row in which the trace is drawn.
  Grip grip(const TimeAxis& axis, const QRectF& lanes, double x) const;
  // Moves what was gripped so that it follows the pointer from `from` to `to`; without a grip the
  // window's middle goes there.
  void move(TimeAxis& axis, const QRectF& lanes, Grip grip, double from, double to) const;

  // `box`: the whole row with its header.
  void paint(QPainter& painter, const QRectF& box, const QRectF& lanes, const Scene& scene,
             const TimeAxis& axis);
  void forget() { image_ = {}; }  // after the theme, the document or its colours changed

 private:
  // The trace, without the window.
  void paint_trace(QPainter& painter, const QRectF& lanes, const Scene& scene,
                   const TimeAxis& axis) const;

  QImage image_;
};

}  // namespace foreshard::gui
