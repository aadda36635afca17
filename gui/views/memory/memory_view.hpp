// The view "Memory".
#pragma once

#include "gui/views/base/view.hpp"

namespace foreshard::gui {

class MemoryView : public View {
  Q_OBJECT
 public:
  explicit MemoryView(Session& session, QWidget* parent = nullptr);
  QString title() const override { return tr("Memory"); }
};

}  // namespace foreshard::gui
