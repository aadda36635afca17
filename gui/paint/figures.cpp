#include "gui/paint/figures.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

struct DigitWidths {
  std::array<double, 10> own{};
  double widest = 0;
};

DigitWidths measured(const QFont& font) {
  const QFontMetricsF metrics(font);
  DigitWidths widths;
  for (std::size_t digit = 0; digit < widths.own.size(); ++digit) {
    widths.own[digit] = metrics.horizontalAdvance(QString::number(digit));
    widths.widest = std::max(widths.widest, widths.own[digit]);
  }
  return widths;
}

// Measured once a font: that takes longer than drawing a figure.
const DigitWidths& digit_widths(const QFont& font) {
  static std::deque<std::pair<QFont, DigitWidths>> known;
  for (const auto& [of, widths] : known) {
    if (of == font) return widths;
  }
  return known.emplace_back(font, measured(font)).second;
}

// Calls visit(part, x) for each digit and each stretch between digits, and returns the width of all.
template <typename Visit>
double walk(const QFont& font, const QString& text, const Visit& visit) {
  const DigitWidths& digits = digit_widths(font);
  const QFontMetricsF metrics(font);
  double x = 0;
  for (qsizetype at = 0; at < text.size();) {
    qsizetype end = at + 1;
    if (!text[at].isDigit()) {
      while (end < text.size() && !text[end].isDigit()) ++end;
    }
    const QString part = text.mid(at, end - at);
    const int digit = text[at].digitValue();
    const bool is_known = digit >= 0 && text[at].unicode() < 0x80;
    const double own =
        is_known ? digits.own[static_cast<std::size_t>(digit)] : metrics.horizontalAdvance(part);
    const double advance = text[at].isDigit() ? digits.widest : own;
    visit(part, x + (advance - own) / 2);
    x += advance;
    at = end;
  }
  return x;
}

constexpr double kUnitGap = 4;
constexpr double kNoteGap = 8;

Text unit_size(Text size) {
  return size == Text::key_figure ? Text::title : Text::value;
}

}  // namespace

double figure_width(const QFont& font, const QString& text) {
  return walk(font, text, [](const QString&, double) {});
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
  walk(painter.font(), text, [&](const QString& part, double x) {
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

double number_width(Text size, const Figure& figure, const QString& note) {
  double width = figure_width(font(size), figure.number);
  if (!figure.unit.isEmpty()) width += kUnitGap + figure_width(font(unit_size(size)), figure.unit);
  if (!note.isEmpty()) width += kNoteGap + figure_width(font(Text::secondary), note);
  return width;
}

double draw_number(QPainter& painter, QPointF baseline_left, Text size, const Figure& figure,
                   const QString& note, Role note_role, Role role) {
  double x = baseline_left.x();
  const auto draw = [&](Text text_size, const QString& text, Role text_role) {
    painter.setFont(font(text_size));
    painter.setPen(theme()[text_role]);
    draw_figure_at(painter, {x, baseline_left.y()}, text);
    x += figure_width(painter.font(), text);
  };
  draw(size, figure.number, role);
  if (!figure.unit.isEmpty()) {
    x += kUnitGap;
    draw(unit_size(size), figure.unit, role);
  }
  if (!note.isEmpty()) {
    x += kNoteGap;
    draw(Text::secondary, note, note_role);
  }
  return x;
}

}  // namespace foreshard::gui
