#include "gui/paint/pill.hpp"

#include <algorithm>
#include <cmath>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {

QRectF pill_box(double centre_x, double top, const QString& text, double left, double right) {
  const QFont used = font(Text::secondary_strong);
  const double width = figure_width(used, text) + 16;
  const double x = std::clamp(centre_x - width / 2, left, std::max(left, right - width));
  return {x, top, width, QFontMetricsF(used).height() + 6};
}

QRectF draw_pill(QPainter& painter, double centre_x, double top, const QString& text, QColor fill,
                 QColor ink, double left, double right) {
  painter.save();
  painter.setFont(font(Text::secondary_strong));
  const QRectF box = pill_box(centre_x, top, text, left, right);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(fill);
  painter.drawRoundedRect(box, 4, 4);
  painter.setPen(ink);
  draw_figure(painter, box, Qt::AlignHCenter, text);
  painter.restore();
  return box;
}

double key_cap_width(const QString& key) {
  const QFontMetricsF metrics(font(Text::tick));
  return std::max(std::ceil(metrics.horizontalAdvance(key)) + 8, static_cast<double>(scaled(16)));
}

QRectF draw_key_cap(QPainter& painter, double left, double centre_y, const QString& key) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const double height = scaled(16);
  const QRectF box(left, std::floor(centre_y - height / 2), key_cap_width(key), height);
  painter.setPen(QPen(theme()[Role::strong_line], 1));
  painter.setBrush(theme()[Role::panel]);
  painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
  painter.setFont(font(Text::tick));
  painter.setPen(theme()[Role::text2]);
  painter.drawText(box, Qt::AlignCenter, key);
  painter.restore();
  return box;
}

void draw_state(QPainter& painter, QPointF centre, Role state) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme()[state]);
  const double r = 4;
  if (state == Role::warn) {
    painter.drawPolygon(QPolygonF(
        {centre + QPointF(0, -r), centre + QPointF(r + 1, r), centre + QPointF(-r - 1, r)}));
  } else if (state == Role::error) {
    painter.drawRect(QRectF(centre.x() - r, centre.y() - r, 2 * r, 2 * r));
  } else {
    painter.drawEllipse(centre, r, r);
  }
  painter.restore();
}

void draw_swatch(QPainter& painter, QPointF centre, QColor colour) {
  painter.fillRect(QRectF(centre.x() - 4, centre.y() - 4, 8, 8), colour);
}

void draw_check(QPainter& painter, QPointF centre, QColor colour) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colour, 1.6));
  painter.drawPolyline(
      QPolygonF({centre + QPointF(-4, 0), centre + QPointF(-1, 3), centre + QPointF(4, -4)}));
  painter.restore();
}

void draw_triangle(QPainter& painter, QPointF centre, bool is_open, QColor colour) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  const QPolygonF open(
      {centre + QPointF(-4, -2.5), centre + QPointF(4, -2.5), centre + QPointF(0, 3)});
  const QPolygonF folded(
      {centre + QPointF(-2.5, -4), centre + QPointF(-2.5, 4), centre + QPointF(3, 0)});
  painter.drawPolygon(is_open ? open : folded);
  painter.restore();
}

}  // namespace foreshard::gui
