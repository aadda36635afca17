#include "gui/views/what_if/variant.hpp"

#include <algorithm>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

QColor grey_of(int place) {
  if (place == 0) return theme()[Role::ink];
  return theme().towards_canvas(theme()[Role::text2], 0.22 * ((place - 1) % 3));
}

}  // namespace

std::vector<Variant> variants_of(const WhatIf& what_if) {
  std::vector<Variant> variants;
  if (what_if.outcome() != nullptr) {
    const QString name = what_if.name_of(what_if.outcome()->settings);
    variants.push_back({WhatIf::tr("Now"), name, what_if.outcome(), 0});
  }
  int place = 0;
  for (const Pin& pin : what_if.pins()) {
    variants.push_back({pin.letter, pin.name, pin.outcome, ++place});
  }
  return variants;
}

StepPen pen_of(const Variant& variant) {
  StepPen pen{grey_of(variant.place), variant.place == 0 ? 2 : 1.6};
  if (variant.place % 3 == 2) pen.dash = 6, pen.gap = 4;
  if (variant.place % 3 == 0 && variant.place > 0) pen.dash = pen.gap = 3;
  return pen;
}

double badge_width(const QString& letter) {
  return std::max(18.0, figure_width(gui::font(Text::secondary_strong), letter) + 14);
}

void draw_badge(QPainter& painter, QPointF centre, const Variant& variant) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const double wide = badge_width(variant.letter);
  const QRectF box(centre.x() - wide / 2, centre.y() - kBadgeHeight / 2, wide, kBadgeHeight);
  const QColor fill = grey_of(variant.place);
  painter.setPen(QPen(theme()[Role::canvas], 1));
  painter.setBrush(fill);
  painter.drawRoundedRect(box, kBadgeHeight / 2, kBadgeHeight / 2);
  painter.setFont(gui::font(Text::secondary_strong));
  painter.setPen(theme().text_on(fill));
  painter.drawText(box, Qt::AlignCenter, variant.letter);
  painter.restore();
}

void draw_heading(QPainter& painter, QPointF baseline, const QString& title, const QString& about) {
  painter.setFont(gui::font(Text::strong));
  painter.setPen(theme()[Role::text]);
  painter.drawText(baseline, title);
  const double after = QFontMetricsF(painter.font()).horizontalAdvance(title) + 12;
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text3]);
  painter.drawText(baseline + QPointF(after, 0), about);
}

}  // namespace foreshard::gui
