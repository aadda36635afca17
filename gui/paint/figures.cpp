#include "gui/paint/figures.hpp"

#include <algorithm>

namespace foreshard::gui {
namespace {

double digit_advance(const QFontMetricsF& metrics) {
  double widest = 0;
  for (char digit = '0'; digit <= '9'; ++digit) {
    widest = std::max(widest, metrics.horizontalAdvance(QLatin1Char(digit)));
  }
  return widest;
}

}  // namespace

double figure_width(const QFont& font, const QString& text) {
  const QFontMetricsF metrics(font);
  const double digit = digit_advance(metrics);
  double width = 0;
  for (const QChar c : text) width += c.isDigit() ? digit : metrics.horizontalAdvance(c);
  return width;
}

void draw_figure(QPainter& painter, const QRectF& box, Qt::Alignment alignment,
                 const QString& text) {
  const QFontMetricsF metrics(painter.font());
  double x = box.left();
  if (alignment & (Qt::AlignRight | Qt::AlignHCenter)) {
    const double space = box.width() - figure_width(painter.font(), text);
    x += alignment & Qt::AlignRight ? space : space / 2;
  }
  const double y = box.center().y() + (metrics.ascent() - metrics.descent()) / 2;
  draw_figure_at(painter, {x, y}, text);
}

void draw_figure_at(QPainter& painter, QPointF baseline_left, const QString& text) {
  const QFontMetricsF metrics(painter.font());
  const double digit = digit_advance(metrics);
  double x = baseline_left.x();
  for (const QChar c : text) {
    const double own = metrics.horizontalAdvance(c);
    const double advance = c.isDigit() ? digit : own;
    if (!c.isSpace())
      painter.drawText(QPointF(x + (advance - own) / 2, baseline_left.y()), QString(c));
    x += advance;
  }
}

QString elided_figure(const QFont& font, const QString& text, double width) {
  if (figure_width(font, text) <= width + 0.5) return text;
  const QChar ellipsis(0x2026);
  QString shown = text;
  while (!shown.isEmpty() && figure_width(font, shown + ellipsis) > width) shown.chop(1);
  return shown.isEmpty() ? shown : shown + ellipsis;
}

}  // namespace foreshard::gui
