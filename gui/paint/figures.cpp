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

// Calls visit(part, x) for each digit and each stretch between digits, and returns the width of all.
template <typename Visit>
double walk(const QFontMetricsF& metrics, const QString& text, const Visit& visit) {
  const double digit = digit_advance(metrics);
  double x = 0;
  for (qsizetype at = 0; at < text.size();) {
    qsizetype end = at + 1;
    if (!text[at].isDigit()) {
      while (end < text.size() && !text[end].isDigit()) ++end;
    }
    const QString part = text.mid(at, end - at);
    const double own = metrics.horizontalAdvance(part);
    const double advance = text[at].isDigit() ? digit : own;
    visit(part, x + (advance - own) / 2);
    x += advance;
    at = end;
  }
  return x;
}

}  // namespace

double figure_width(const QFont& font, const QString& text) {
  return walk(QFontMetricsF(font), text, [](const QString&, double) {});
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
  walk(QFontMetricsF(painter.font()), text, [&](const QString& part, double x) {
    painter.drawText(QPointF(baseline_left.x() + x, baseline_left.y()), part);
  });
}

QString elided_figure(const QFont& font, const QString& text, double width) {
  if (figure_width(font, text) <= width + 0.5) return text;
  const QChar ellipsis(0x2026);
  QString shown = text;
  while (!shown.isEmpty() && figure_width(font, shown + ellipsis) > width) shown.chop(1);
  while (shown.endsWith(QLatin1Char(' ')) || shown.endsWith(QLatin1Char('.'))) shown.chop(1);
  return shown.isEmpty() ? shown : shown + ellipsis;
}

}  // namespace foreshard::gui
