#include "gui/views/timeline/memory_strip.hpp"

namespace foreshard::gui {

void MemoryStrip::show(DocumentPtr, int) {}

void MemoryStrip::paint(QPainter&, const QRectF&, double, const TimeAxis&, const Ruler&) {}

}  // namespace foreshard::gui
