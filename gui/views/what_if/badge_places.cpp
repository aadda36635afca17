#include "gui/views/what_if/badge_places.hpp"

#include <algorithm>

#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {
namespace {

constexpr double kAcross = 10, kAlong = 12, kRows = 4;

// Left and right of the point, above and below it, and ever farther away from it.
std::vector<QRectF> candidates(const BadgePoint& point) {
  const double half = point.badge_width / 2;
  std::vector<QRectF> boxes;
  for (double row = 0; row < kRows; ++row) {
    for (const double down : {-1.0, 1.0}) {
      for (const double right : {-1.0, 1.0}) {
        const QPointF centre =
            point.at + QPointF(right * (kAcross + half), down * (kAlong + row * kBadgeHeight));
        boxes.emplace_back(centre - QPointF(half, kBadgeHeight / 2),
                           QSizeF(point.badge_width, kBadgeHeight));
      }
    }
  }
  return boxes;
}

}  // namespace

std::vector<QRectF> place_badges(const std::vector<BadgePoint>& points,
                                 const std::vector<QPointF>& marks, const QRectF& within) {
  std::vector<QRectF> placed;
  for (const BadgePoint& point : points) {
    const auto is_over_another = [&](const QRectF& box) {
      return std::any_of(placed.begin(), placed.end(),
                         [&](const QRectF& other) { return box.intersects(other); });
    };
    std::vector<QRectF> boxes = candidates(point);
    const QRectF first = boxes.front();
    std::erase_if(boxes,
                  [&](const QRectF& box) { return !within.contains(box) || is_over_another(box); });
    const auto covered = [&](const QRectF& box) {
      return std::count_if(marks.begin(), marks.end(),
                           [&](QPointF mark) { return box.contains(mark); });
    };
    const auto best =
        std::min_element(boxes.begin(), boxes.end(),
                         [&](const QRectF& a, const QRectF& b) { return covered(a) < covered(b); });
    placed.push_back(best == boxes.end() ? first : *best);
  }
  return placed;
}

}  // namespace foreshard::gui
