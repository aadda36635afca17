#include "gui/views/base/painted_widget.hpp"

#include <QEvent>
#include <QPaintEngine>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {

PaintedWidget::PaintedWidget(QWidget* parent) : QWidget(parent) {
  connect(&Appearance::instance(), &Appearance::changed, this, [this] {
    updateGeometry();
    update();
  });
}

void PaintedWidget::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  update();
}

void PaintedWidget::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  update();
}

void PaintedWidget::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::EnabledChange) update();
}

double PaintedWidget::picture_ratio(const QPainter& painter) const {
  return painter.paintEngine()->type() == QPaintEngine::SVG ? 3 : devicePixelRatioF();
}

void PaintedWidget::draw_focus(QPainter& painter, const QRectF& box, double radius) const {
  if (!hasFocus()) return;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::focus], 2));
  painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), radius, radius);
  painter.restore();
}

}  // namespace foreshard::gui
