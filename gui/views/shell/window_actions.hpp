// What can be done with the window: every action with its words and keys, as the menu has them. The
// command palette lists them all.
#pragma once

#include <QAction>
#include <vector>

#include "gui/views/base/view.hpp"

class QMainWindow;

namespace foreshard::gui {

struct WindowActions {
  // Actions of `window`, which works where the keyboard is anywhere in it.
  WindowActions(QMainWindow& window, const std::vector<View*>& views);

  struct Group {
    QString title;
    QList<QAction*> actions;
  };
  const std::vector<Group>& groups() const { return groups_; }  // of the menu
  QList<QAction*> all() const;
  bool has_key(const QKeySequence& key) const;
  std::vector<KeyHelp> keys() const;  // for the help: those that have keys

  std::vector<QAction*> views;
  QAction *open, *open_folder, *open_part, *reload, *follow, *close, *new_window;
  QAction *search, *next_hit, *previous_hit, *help, *commands, *inspector, *float_inspector,
      *results, *tables, *exposed, *next_rank, *previous_rank, *critical_path, *align_steps;
  QAction *copy, *picture;
  QAction *system_theme, *light_theme, *dark_theme, *larger, *smaller, *usual, *less_motion;
  QAction* quit;

 private:
  QAction* add(const QString& text, const QList<QKeySequence>& keys = {});

  QMainWindow& window_;
  std::vector<Group> groups_;
};

}  // namespace foreshard::gui
