#include "gui/views/compare/compare_view.hpp"

namespace foreshard::gui {

CompareView::CompareView(Session& session, QWidget* parent) : View(session, parent) {}

}  // namespace foreshard::gui
