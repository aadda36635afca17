#include "gui/views/timeline/timeline_view.hpp"

namespace foreshard::gui {

TimelineView::TimelineView(Session& session, QWidget* parent) : View(session, parent) {}

}  // namespace foreshard::gui
