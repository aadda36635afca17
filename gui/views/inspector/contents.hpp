// What the inspector tells of a step, of a range of time and of an event, out of the analysis and the
// trace.
#pragma once

#include <optional>
#include <vector>

#include "gui/models/memory/memory_curve.hpp"
#include "gui/models/session/document.hpp"
#include "gui/models/timeline/event_links.hpp"
#include "gui/models/timeline/range_statistics.hpp"
#include "gui/views/base/side_panel.hpp"
#include "gui/views/inspector/event_plots.hpp"

namespace foreshard::gui {

// Of the last step of that rank; of the whole recording where it has no steps: where its time goes,
// what bounds it, what the critical path consists of, and how the recording was made.
PanelContent step_content(const Document& document, int rank);

// Its length and share of the step, where its time goes, one sentence on what bounds it, its operators
// and collectives, and its memory from beginning to end. `memory`: of the statistics' rank; by the
// clock that its curve is drawn by.
PanelContent range_content(const Document& document, const RangeStatistics& statistics,
                           const MemoryCurve& memory);

// Its figure, what it is and did, where its cost comes from, what stands before and after it, and its
// key. The plots of its band and its like belong to the first and the last but one section.
struct EventContent {
  PanelContent panel;
  struct Band {
    double value_ns = 0, low_ns = 0, high_ns = 0;
  };
  std::optional<Band> band{};
  std::vector<Twin> twins{};  // of the same step, itself among them
  int current_twin = 0;
};
enum EventSection : std::uint8_t { kEventFacts, kEventCost, kEventLinks, kEventTwins, kEventKey };

// `place`: of the document among the open ones, for the events that links lead to. Takes a while
// where an event has many like it.
EventContent event_content(const Document& document, int place, EventIndex event);

}  // namespace foreshard::gui
