// What stands left of the lanes: the gutter that tells measured from predicted, titles and figures;
// and the headers of sections, which span the width.
#pragma once

#include <QPainter>
#include <QString>

#include "gui/views/timeline/scene.hpp"

namespace foreshard::gui {

// `box`: the whole row; the lanes begin at `left`. `is_current`: the keys' lane.
void paint_row_header(QPainter& painter, const QRectF& box, double left, const SceneRow& row,
                      const QString& figure, bool is_current);

// Solid: measured; hatched: predicted.
void paint_gutter(QPainter& painter, const QRectF& box, bool is_predicted);

// `Gathered units` with what its colours mean; also the memory strip's.
void paint_section_header(QPainter& painter, const QRectF& box, double left, const SceneRow& row);

}  // namespace foreshard::gui
