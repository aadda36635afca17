// What the inspector tells of an event, out of its card.
#pragma once

#include "gui/models/session/document.hpp"
#include "gui/models/timeline/event_links.hpp"
#include "gui/views/inspector/selection_panel.hpp"

namespace foreshard::gui {

// `place`: of the document among the open ones, for the events that links lead to. Takes a while
// where an event has many like it.
SelectionContent event_content(const Document& document, int place, EventIndex event);

}  // namespace foreshard::gui
