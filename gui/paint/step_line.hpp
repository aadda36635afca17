// A line of steps, such as memory over time, from one height a column. It is made of rectangles on
// whole pixels, which takes a fraction of the time of a polyline with a pen: such lines are painted
// again at every move of a control.
#pragma once

#include <QBrush>
#include <QColor>
#include <QPainter>
#include <vector>

namespace foreshard::gui {

// Where a line stands: column n begins at left + n * width, and has its line at y[n].
struct StepColumns {
  double left = 0, width = 1;
  std::vector<double> y;

  double right() const { return left + width * static_cast<double>(y.size()); }
};

struct StepPen {
  QColor colour;
  double width = 2;
  double dash = 0, gap = 0;  // lengths along the line; without a gap it is solid
};

void draw_step_line(QPainter& painter, const StepColumns& columns, const StepPen& pen);
void fill_below(QPainter& painter, const StepColumns& columns, double bottom, QColor colour);
// As one shape: boxes with a texture Qt fills on other threads, which takes longer while those are busy.
void fill_between(QPainter& painter, const StepColumns& upper, const StepColumns& lower,
                  const QBrush& brush);

}  // namespace foreshard::gui
