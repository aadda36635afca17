// What a lane of a trace is for, by its name and by what runs there.
#pragma once

#include <string>

#include "gui/models/timeline/lane_events.hpp"
#include "gui/models/timeline/row.hpp"

namespace foreshard::gui {

RowKind row_kind(const traces::Trace& trace, const traces::Lane& lane, LaneEvents events);

}  // namespace foreshard::gui
