// Figures that do not jitter: every digit advances by the width of the widest, as Inter's digits are of
// different widths and Qt before 6.7 cannot ask a font for equal ones.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QString>

namespace foreshard::gui {

double figure_width(const QFont& font, const QString& text);
// Within `box`, by the painter's font and pen; vertically centred, and aligned left, right or centred.
void draw_figure(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text);

}  // namespace foreshard::gui
