// Text that is drawn again and again, as while a view moves: each label is kept as an image, since
// laying out text costs more than the rest of a frame. Painters that write vectors get real text.
//
// For the window's thread.
#pragma once

#include <QColor>
#include <QPainter>
#include <QString>

#include "gui/paint/fonts.hpp"

namespace foreshard::gui {

double label_width(const QString& text, Text style);

// Within `box`, vertically centred, and aligned left, right or centred.
void draw_label(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text,
                Text style, QColor colour);

// The same for figures that change: every digit advances by the same width (see figures.hpp).
void draw_figure_label(QPainter& painter, const QRectF& box, Qt::Alignment alignment,
                       const QString& text, Text style, QColor colour);
double figure_label_width(const QString& text, Text style);

// `text`, shortened to end in an ellipsis where it is wider.
QString elided_label(const QString& text, Text style, double width);

}  // namespace foreshard::gui
