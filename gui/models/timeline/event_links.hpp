// How events belong together: what launched one, what it waited for, what came after it, the same
// collective on other ranks, the same operator in the step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gui/models/timeline/lane_set.hpp"

namespace foreshard::gui {

using EventIndex = std::int32_t;  // into Trace::events

struct EventLinks {
  std::optional<EventIndex> launched_by;
  std::optional<EventIndex>
      waited_for;                    // the work that kept it waiting: its stream's, or another's
  std::optional<EventIndex> then;    // of its rank, the first that began once it was over
  std::vector<EventIndex> partners;  // the same collective on other ranks
};
EventLinks links_of(const LaneSet& lanes, EventIndex event);

// Events of equal operator in the event's lane and step, itself among them, in the order of time.
std::vector<EventIndex> twins_of(const LaneSet& lanes, EventIndex event);

// The same instruction: on the next rank (`by` 1) or the one before (-1), or in the next step or the one
// before. By stable key, or by name and number within the step where there are none.
std::optional<EventIndex> same_in_rank(const LaneSet& lanes, EventIndex event, int by);
std::optional<EventIndex> same_in_step(const LaneSet& lanes, EventIndex event, int by);
// In another trace: of the rank that stands for the event's there, in the step of its number, or in the
// last where there is none.
std::optional<EventIndex> same_in_trace(const LaneSet& lanes, EventIndex event,
                                        const LaneSet& others);

}  // namespace foreshard::gui
