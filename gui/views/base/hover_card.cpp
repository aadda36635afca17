#include "gui/views/base/hover_card.hpp"

#include <algorithm>
#include <array>

#include "gui/paint/fonts.hpp"
#include "gui/paint/labels.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kCardPadding = 12, kDistance = 10;
constexpr int kWidth = 262, kTitleRow = 22, kRow = 19;  // at the usual size of text

int rows_below_title(const HoverCard& card) {
  return static_cast<int>(card.facts.size()) + !card.subtitle.isEmpty() + !card.note.isEmpty();
}

}  // namespace

QSizeF card_size(const HoverCard& card) {
  return {scaled(kWidth) * 1.0,
          2 * kCardPadding - 2 + scaled(kTitleRow) + rows_below_title(card) * scaled(kRow)};
}

QRectF place_card(QSizeF size, const QRectF& event, QPointF pointer, const QRectF& bounds) {
  const QRectF inside = bounds.adjusted(4, 4, -4, -4);
  const double x = std::clamp(pointer.x() + kDistance, inside.left(),
                              std::max(inside.left(), inside.right() - size.width()));
  const double y = std::clamp(pointer.y() + kDistance, inside.top(),
                              std::max(inside.top(), inside.bottom() - size.height()));
  // Below, above, right or left of the event: the first that is within the bounds.
  const std::array<QPointF, 4> places{
      QPointF(x, event.bottom() + kDistance), QPointF(x, event.top() - kDistance - size.height()),
      QPointF(event.right() + kDistance, y), QPointF(event.left() - kDistance - size.width(), y)};
  for (const QPointF place : places) {
    const QRectF box(place, size);
    if (inside.contains(box)) return box;
  }
  return {QPointF(x, y), size};
}

void paint_hover_card(QPainter& painter, const QRectF& box, const HoverCard& card) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  for (int ring = 3; ring > 0; --ring) {  // a soft shadow
    painter.setBrush(QColor(0, 0, 0, theme().is_dark() ? 40 : 14));
    painter.drawRoundedRect(box.adjusted(-ring, 1 - ring, ring, 2 + ring), 7 + ring, 7 + ring);
  }
  painter.setBrush(theme()[Role::raised]);
  painter.setPen(QPen(theme()[Role::strong_line], 1));
  painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  painter.restore();

  const QRectF inner = box.adjusted(kCardPadding, kCardPadding - 2, -kCardPadding, 0);
  QRectF row(inner.left(), inner.top(), inner.width(), scaled(kTitleRow));
  draw_swatch(painter, row.topLeft() + QPointF(5, row.height() / 2), card.swatch);
  draw_label(painter, row.adjusted(17, 0, 0, 0), Qt::AlignLeft,
             elided_label(card.title, Text::strong, row.width() - 17), Text::strong,
             theme()[Role::text]);
  row = QRectF(inner.left(), row.bottom(), inner.width(), scaled(kRow));
  const auto line = [&](const QString& text, Role role) {
    draw_label(painter, row, Qt::AlignLeft, elided_label(text, Text::secondary, row.width()),
               Text::secondary, theme()[role]);
    row.translate(0, scaled(kRow));
  };
  if (!card.subtitle.isEmpty()) line(card.subtitle, Role::text2);
  for (const auto& [label, value] : card.facts) {
    draw_label(painter, row, Qt::AlignLeft, label, Text::secondary, theme()[Role::text2]);
    const double room = row.width() - label_width(label, Text::secondary) - 12;
    draw_figure_label(painter, row, Qt::AlignRight,
                      elided_label(value, Text::secondary_strong, room), Text::secondary_strong,
                      theme()[Role::text]);
    row.translate(0, scaled(kRow));
  }
  if (!card.note.isEmpty()) line(card.note, Role::text3);
}

}  // namespace foreshard::gui
