// The event of one trace that is that of another: of a recording that has grown, or of a what-if that was predicted
// again, where numbers of events mean other ones.
#pragma once

#include <cstdint>
#include <optional>

#include "traces/trace.hpp"

namespace foreshard::gui {

// Of the same rank and the lane of the same name: the event of that name that begins then, else the one that comes
// at the same place among those of its step with that name, unit and phase. Nothing where there is none.
std::optional<std::int32_t> same_event(const traces::Trace& from, std::int32_t event,
                                       const traces::Trace& to);

}  // namespace foreshard::gui
