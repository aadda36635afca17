// The card that appears where the pointer rests: an event's name, what it is part of, its figures and
// where they come from.
#pragma once

#include <QColor>
#include <QPainter>
#include <QString>
#include <utility>
#include <vector>

namespace foreshard::gui {

struct HoverCard {
  QColor swatch;
  QString title, subtitle;
  std::vector<std::pair<QString, QString>> facts;
  QString note;
};

QSizeF card_size(const HoverCard& card);
// Within `bounds`, beside the pointer, never over the event's own box.
QRectF place_card(QSizeF size, const QRectF& event, QPointF pointer, const QRectF& bounds);
void paint_hover_card(QPainter& painter, const QRectF& box, const HoverCard& card);

}  // namespace foreshard::gui
