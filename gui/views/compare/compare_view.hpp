// The view "Compare".
#pragma once

#include "gui/views/base/view.hpp"

namespace foreshard::gui {

class CompareView : public View {
  Q_OBJECT
 public:
  explicit CompareView(Session& session, QWidget* parent = nullptr);
  QString title() const override { return tr("Compare"); }
};

}  // namespace foreshard::gui
