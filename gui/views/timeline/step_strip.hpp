// The figures of a step for the strip above the timeline.
#pragma once

#include <vector>

#include "gui/models/session/document.hpp"
#include "gui/views/base/figure_strip.hpp"

namespace foreshard::gui {

std::vector<StripFigure> step_strip(const Document& document);

}  // namespace foreshard::gui
