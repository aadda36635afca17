#include "gui/views/what_if/toggle_switch.hpp"

#include <QFontMetricsF>
#include <QPainter>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

void draw_ring(QPainter& painter, const QWidget& widget, const QRectF& box, double radius) {
  if (!widget.hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::focus], 2));
  painter.drawRoundedRect(box, radius, radius);
}

}  // namespace

ToggleSwitch::ToggleSwitch(QWidget* parent) : QAbstractButton(parent) {
  setCheckable(true);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  connect(&Appearance::instance(), &Appearance::changed, this, qOverload<>(&QWidget::update));
}

void ToggleSwitch::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (!isEnabled()) painter.setOpacity(0.45);
  const Theme& t = theme();
  const QRectF track(2, 4, 28, 14);
  painter.setPen(Qt::NoPen);
  painter.setBrush(isChecked() ? t[Role::ink] : t[Role::strong_line]);
  painter.drawRoundedRect(track, 7, 7);
  painter.setBrush(isChecked() ? t[Role::canvas] : t[Role::raised]);
  painter.drawEllipse(QPointF(isChecked() ? track.right() - 7 : track.left() + 7, 11), 5, 5);
  draw_ring(painter, *this, track.adjusted(-1, -2, 1, 2), 9);
}

CheckChip::CheckChip(const QString& text, QWidget* parent) : QAbstractButton(parent) {
  setText(text);
  setCheckable(true);
  setAccessibleName(text);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  connect(&Appearance::instance(), &Appearance::changed, this, qOverload<>(&QWidget::update));
}

QSize CheckChip::sizeHint() const {
  const double text_width = QFontMetricsF(gui::font(Text::secondary)).horizontalAdvance(text());
  return {static_cast<int>(text_width) + 28, 24};
}

void CheckChip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (!isEnabled()) painter.setOpacity(0.45);
  const Theme& t = theme();
  const QRectF box = QRectF(rect()).adjusted(0.5, 1.5, -0.5, -1.5);
  painter.setBrush(t[Role::raised]);
  painter.setPen(QPen(isChecked() ? t[Role::ink] : t[Role::strong_line], 1));
  painter.drawRoundedRect(box, 5, 5);
  painter.setPen(t[isChecked() ? Role::text : Role::text3]);
  painter.setFont(gui::font(Text::secondary));
  painter.drawText(box.adjusted(isChecked() ? 17 : 0, 0, 0, 0), Qt::AlignCenter, text());
  if (isChecked()) draw_check(painter, {12, 12.5}, t[Role::text]);
  draw_ring(painter, *this, box.adjusted(0.5, 0.5, -0.5, -0.5), 5);
}

}  // namespace foreshard::gui
