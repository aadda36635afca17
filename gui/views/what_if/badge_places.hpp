// Where the badges of a plot's points stand: beside their points, never over one another, and over as
// few of the plot's other marks as can be.
#pragma once

#include <QPointF>
#include <QRectF>
#include <vector>

namespace foreshard::gui {

struct BadgePoint {
  QPointF at;
  double badge_width = 0;
};

// One box a point, in their order: those that come first have the better places.
std::vector<QRectF> place_badges(const std::vector<BadgePoint>& points,
                                 const std::vector<QPointF>& marks, const QRectF& within);

}  // namespace foreshard::gui
