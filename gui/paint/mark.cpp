#include "gui/paint/mark.hpp"

namespace foreshard::gui {

void draw_mark(QPainter& painter, const QRectF& box, QColor colour) {
  const double unit = box.width() / 14;
  QColor pale = colour;
  pale.setAlphaF(0.55F);
  painter.fillRect(QRectF(box.left(), box.top(), 4 * unit, box.height()), colour);
  painter.fillRect(QRectF(box.left() + 5 * unit, box.top(), 4 * unit, box.height() * 0.62), colour);
  painter.fillRect(
      QRectF(box.left() + 5 * unit, box.top() + box.height() * 0.7, 4 * unit, box.height() * 0.3),
      pale);
  painter.fillRect(QRectF(box.left() + 10 * unit, box.top(), 4 * unit, box.height() * 0.3), pale);
  painter.fillRect(QRectF(box.left() + 10 * unit, box.top() + box.height() * 0.38, 4 * unit,
                          box.height() * 0.62),
                   colour);
}

}  // namespace foreshard::gui
