// What the inspector tells of a range of time, out of its statistics.
#pragma once

#include "gui/models/memory/memory_curve.hpp"
#include "gui/models/session/document.hpp"
#include "gui/models/timeline/range_statistics.hpp"
#include "gui/views/inspector/range_panel.hpp"

namespace foreshard::gui {

// `memory`: of the statistics' rank; by the clock that its curve is drawn by.
RangeContent range_content(const Document& document, const RangeStatistics& statistics,
                           const MemoryCurve& memory);

}  // namespace foreshard::gui
