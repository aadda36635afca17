#include "gui/paint/step_line.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {
namespace {

// Draws one stretch after the other, and leaves the gaps of the pen between its dashes.
class StepStroke {
 public:
  StepStroke(QPainter& painter, const StepPen& pen) : painter_(painter), pen_(pen) {}

  void horizontal(double from, double to, double y) {
    const double up = pen_.width / 2;
    dashes(to - from, [&](double begin, double end) {
      painter_.fillRect(QRectF(from + begin, y - up, end - begin, pen_.width), pen_.colour);
    });
  }

  void vertical(double x, double from, double to) {
    const double way = to < from ? -1 : 1, up = pen_.width / 2;
    dashes(std::abs(to - from), [&](double begin, double end) {
      const double a = from + way * begin, b = from + way * end;
      painter_.fillRect(QRectF(x, std::min(a, b) - up, pen_.width, std::abs(b - a) + pen_.width),
                        pen_.colour);
    });
  }

 private:
  void dashes(double length, const auto& draw) {
    if (pen_.gap <= 0) return draw(0.0, length);
    const double period = pen_.dash + pen_.gap;
    const double start = std::fmod(gone_, period);
    gone_ += length;
    for (double dash = -start; dash < length; dash += period) {
      const double begin = std::max(dash, 0.0), end = std::min(dash + pen_.dash, length);
      if (begin < end) draw(begin, end);
    }
  }

  QPainter& painter_;
  const StepPen& pen_;
  double gone_ = 0;
};

// Calls visit(first, last) for each stretch of columns of one height, last not included.
void each_level(const std::vector<double>& y, const auto& visit) {
  for (std::size_t first = 0; first < y.size();) {
    std::size_t last = first + 1;
    while (last < y.size() && y[last] == y[first]) ++last;
    visit(first, last);
    first = last;
  }
}

}  // namespace

void draw_step_line(QPainter& painter, const StepColumns& columns, const StepPen& pen) {
  StepStroke stroke(painter, pen);
  each_level(columns.y, [&](std::size_t first, std::size_t last) {
    const double from = columns.left + columns.width * static_cast<double>(first);
    const double to = columns.left + columns.width * static_cast<double>(last);
    if (first > 0) stroke.vertical(from, columns.y[first - 1], columns.y[first]);
    stroke.horizontal(from, to, columns.y[first]);
  });
}

void fill_below(QPainter& painter, const StepColumns& columns, double bottom, QColor colour) {
  each_level(columns.y, [&](std::size_t first, std::size_t last) {
    const double from = columns.left + columns.width * static_cast<double>(first);
    const double wide = columns.width * static_cast<double>(last - first);
    painter.fillRect(QRectF(from, columns.y[first], wide, bottom - columns.y[first]), colour);
  });
}

void fill_between(QPainter& painter, const StepColumns& upper, const StepColumns& lower,
                  const QBrush& brush) {
  QPolygonF outline, back;
  const auto follow = [](const StepColumns& columns, QPolygonF& line) {
    each_level(columns.y, [&](std::size_t first, std::size_t last) {
      line << QPointF(columns.left + columns.width * static_cast<double>(first), columns.y[first])
           << QPointF(columns.left + columns.width * static_cast<double>(last), columns.y[first]);
    });
  };
  follow(upper, outline);
  follow(lower, back);
  std::reverse(back.begin(), back.end());
  painter.setPen(Qt::NoPen);
  painter.setBrush(brush);
  painter.drawPolygon(outline + back);
}

}  // namespace foreshard::gui
