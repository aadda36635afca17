// The view "What-if".
#pragma once

#include "gui/views/base/view.hpp"

namespace foreshard::gui {

class WhatIfView : public View {
  Q_OBJECT
 public:
  explicit WhatIfView(Session& session, QWidget* parent = nullptr);
  QString title() const override { return tr("What-if"); }
};

}  // namespace foreshard::gui
