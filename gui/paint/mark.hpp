// The program's mark: three bars, a whole one and shards of it.
#pragma once

#include <QPainter>

namespace foreshard::gui {

void draw_mark(QPainter& painter, const QRectF& box, QColor colour);

}  // namespace foreshard::gui
