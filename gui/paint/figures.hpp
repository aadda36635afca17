// Figures that do not jitter: every digit advances by the width of the widest, as Inter's digits are of
// different widths and Qt before 6.7 cannot ask a font for equal ones.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QString>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"

namespace foreshard::gui {

double figure_width(const QFont& font, const QString& text);
// Within `box`, by the painter's font and pen; vertically centred, and aligned left, right or centred.
void draw_figure(QPainter& painter, const QRectF& box, Qt::Alignment alignment,
                 const QString& text);
// From `left` on, standing on a base line: for figures of several sizes side by side.
void draw_figure_at(QPainter& painter, QPointF baseline_left, const QString& text);
// The text, or as much of its beginning as fits with an ellipsis.
QString elided_figure(const QFont& font, const QString& text, double width);

// Draws `849.3 ms` and a note on one base line from `left`; returns where it ends.
double draw_number(QPainter& painter, QPointF baseline_left, Text size, const Figure& figure,
                   const QString& note, Role note_role, Role role = Role::text);
double number_width(Text size, const Figure& figure, const QString& note);

}  // namespace foreshard::gui
