#include "gui/views/timeline/arrows.hpp"

#include <algorithm>
#include <cmath>

#include <QPainterPath>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {

void paint_arrow(QPainter& painter, QPointF from, QPointF to) {
  constexpr double kHead = 6;
  // Rows are left and entered vertically; within a row the arrow runs level.
  const bool is_level = std::abs(to.y() - from.y()) < 4;
  const double way = to.y() > from.y() ? 1 : -1;
  const QPointF neck = is_level ? to - QPointF(kHead, 0) : to - QPointF(0, way * kHead);
  QPainterPath path(from);
  if (is_level) {
    path.lineTo(neck);
  } else {
    const double bend = std::max(10.0, std::abs(neck.y() - from.y()) / 2);
    path.cubicTo(from + QPointF(0, way * bend), neck - QPointF(0, way * bend), neck);
  }
  const QPointF along = is_level ? QPointF(1, 0) : QPointF(0, way);
  const QPointF across(along.y(), along.x());
  const QPolygonF head({to, neck + across * kHead * 0.6, neck - across * kHead * 0.6});

  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::canvas], 5, Qt::SolidLine, Qt::RoundCap));
  painter.drawPath(path);
  painter.setPen(QPen(theme()[Role::selection], 1.8));
  painter.drawPath(path);
  painter.setPen(QPen(theme()[Role::canvas], 1));
  painter.setBrush(theme()[Role::selection]);
  painter.drawPolygon(head);
  painter.restore();
}

}  // namespace foreshard::gui
