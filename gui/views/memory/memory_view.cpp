#include "gui/views/memory/memory_view.hpp"

namespace foreshard::gui {

MemoryView::MemoryView(Session& session, QWidget* parent) : View(session, parent) {}

}  // namespace foreshard::gui
