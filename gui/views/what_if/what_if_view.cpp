#include "gui/views/what_if/what_if_view.hpp"

namespace foreshard::gui {

WhatIfView::WhatIfView(Session& session, QWidget* parent) : View(session, parent) {}

}  // namespace foreshard::gui
