// The help that `?` opens: every key of the window and of its views, filterable.
#pragma once

#include <vector>

#include "gui/views/base/view.hpp"
#include "gui/views/inspector/filtered_overlay.hpp"

namespace foreshard::gui {

struct KeySection {
  QString title;  // "Timeline"
  std::vector<KeyHelp> keys;
};

class HelpOverlay : public FilteredOverlay {
  Q_OBJECT
 public:
  explicit HelpOverlay(QWidget* window);

  void show_keys(const std::vector<KeySection>& sections);
};

}  // namespace foreshard::gui
