// What the inspector tells of a range of time, out of its statistics.
#pragma once

#include "gui/models/session/document.hpp"
#include "gui/models/timeline/range_statistics.hpp"
#include "gui/views/inspector/range_panel.hpp"

namespace foreshard::gui {

RangeContent range_content(const Document& document, const RangeStatistics& statistics);

}  // namespace foreshard::gui
