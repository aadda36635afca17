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

void draw_figure(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text) {
  const QFontMetricsF metrics(painter.font());
  const double digit = digit_advance(metrics);
  double x = box.left();
  if (alignment & (Qt::AlignRight | Qt::AlignHCenter)) {
    const double space = box.width() - figure_width(painter.font(), text);
    x += alignment & Qt::AlignRight ? space : space / 2;
  }
  const double y = box.center().y() + (metrics.ascent() - metrics.descent()) / 2;
  for (const QChar c : text) {
    const double own = metrics.horizontalAdvance(c);
    const double advance = c.isDigit() ? digit : own;
    if (!c.isSpace()) painter.drawText(QPointF(x + (advance - own) / 2, y), QString(c));
    x += advance;
  }
}

}  // namespace foreshard::gui
