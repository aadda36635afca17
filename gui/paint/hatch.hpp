// Hatches: predictions, what does not fit, reserved memory that is free, and what is missing.
#pragma once

#include <QBrush>
#include <QColor>

namespace foreshard::gui {

enum class Hatch : std::uint8_t { diagonal, cross };

// A texture of 45 degree lines, anchored to the painter's origin so that it does not crawl when what
// it fills moves. `spacing` in logical pixels.
QBrush hatch(QColor line, Hatch kind = Hatch::diagonal, int spacing = 6);

}  // namespace foreshard::gui
