// The commands that Ctrl+Shift+P opens: every action of the window by its words, with its keys.
#pragma once

#include <QList>
#include <QPointer>

#include "gui/views/inspector/filtered_overlay.hpp"

class QAction;

namespace foreshard::gui {

class CommandPalette : public FilteredOverlay {
  Q_OBJECT
 public:
  explicit CommandPalette(QWidget* window);

  // Actions without words and invisible ones are left out; disabled ones are greyed.
  void show_commands(const QList<QAction*>& actions);

 private:
  QList<QPointer<QAction>> actions_;
};

}  // namespace foreshard::gui
