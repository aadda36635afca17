// The view "Timeline".
#pragma once

#include "gui/views/base/view.hpp"

namespace foreshard::gui {

class TimelineView : public View {
  Q_OBJECT
 public:
  explicit TimelineView(Session& session, QWidget* parent = nullptr);
  QString title() const override { return tr("Timeline"); }
};

}  // namespace foreshard::gui
