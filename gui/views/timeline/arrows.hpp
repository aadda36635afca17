// An arrow from an event's end to the begin of one that it caused, with a halo of the canvas so that
// it is seen over boxes.
#pragma once

#include <QPainter>

namespace foreshard::gui {

void paint_arrow(QPainter& painter, QPointF from, QPointF to);

}  // namespace foreshard::gui
