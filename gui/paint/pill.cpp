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

double badge_width(const QString& letter) {
  return std::max(18.0, figure_width(font(Text::secondary_strong), letter) + 14);
}

void draw_badge(QPainter& painter, QPointF centre, const QString& letter, QColor fill) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const double wide = badge_width(letter);
  const QRectF box(centre.x() - wide / 2, centre.y() - kBadgeHeight / 2, wide, kBadgeHeight);
  painter.setPen(QPen(theme()[Role::canvas], 1));
  painter.setBrush(fill);
  painter.drawRoundedRect(box, kBadgeHeight / 2, kBadgeHeight / 2);
  painter.setFont(font(Text::secondary_strong));
  painter.setPen(theme().text_on(fill));
  painter.drawText(box, Qt::AlignCenter, letter);
  painter.restore();
}

void draw_heading(QPainter& painter, QPointF baseline, const QString& title, const QString& about) {
  painter.setFont(font(Text::strong));
  painter.setPen(theme()[Role::text]);
  painter.drawText(baseline, title);
  const double after = QFontMetricsF(painter.font()).horizontalAdvance(title) + 12;
  painter.setFont(font(Text::secondary));
  painter.setPen(theme()[Role::text3]);
  painter.drawText(baseline + QPointF(after, 0), about);
}

void draw_limit(QPainter& painter, QPointF from, QPointF to) {
  QPen pen(theme()[Role::error], 1.2);
  pen.setDashPattern({5 / 1.2, 3 / 1.2});
  painter.setPen(pen);
  painter.drawLine(from, to);
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
