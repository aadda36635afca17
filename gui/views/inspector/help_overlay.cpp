#include "gui/views/inspector/help_overlay.hpp"

#include <utility>

#include "gui/views/inspector/key_list.hpp"

namespace foreshard::gui {

HelpOverlay::HelpOverlay(QWidget* window)
    : FilteredOverlay(window, {680, 720}, tr("Filter the keys")) {
  setAccessibleName(tr("Keys"));
}

void HelpOverlay::show_keys(const std::vector<KeySection>& sections) {
  std::vector<KeyRow> rows;
  for (const KeySection& section : sections) {
    rows.push_back({section.title, {}, true, true, -1});
    for (const KeyHelp& key : section.keys) rows.push_back({key.action, key.keys, false, true, 0});
  }
  list()->set_rows(std::move(rows));
  open_cleared();
}

}  // namespace foreshard::gui
