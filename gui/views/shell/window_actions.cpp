#include "gui/views/shell/window_actions.hpp"

#include <QMainWindow>
#include <algorithm>

#include "gui/models/base/words.hpp"

namespace foreshard::gui {
namespace {

constexpr Words words("foreshard::gui::WindowActions");

}  // namespace

WindowActions::WindowActions(QMainWindow& window, const std::vector<View*>& all_views)
    : window_(window) {
  const auto begin = [this](const QString& title) { groups_.push_back({title, {}}); };
  begin(words("File"));
  open = add(words("Open a trace…"), {QKeySequence::Open});
  open_folder = add(words("Open a folder of ranks…"));
  open_part = add(words("Open a part of a trace…"));
  reload = add(words("Read the file again"), {QKeySequence(Qt::Key_F5)});
  follow = add(words("Follow the recording"), {QKeySequence(Qt::Key_L)});
  follow->setCheckable(true);
  copy = add(words("Copy as text"), {QKeySequence::Copy});
  picture = add(words("Save a picture…"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S)});
  close = add(words("Close the trace"), {QKeySequence(Qt::CTRL | Qt::Key_W)});
  new_window = add(words("New window"), {QKeySequence(Qt::CTRL | Qt::Key_N)});
  quit = add(words("Quit"), {QKeySequence(Qt::CTRL | Qt::Key_Q)});
  begin(words("Show"));
  int number = 1;
  for (View* view : all_views) {
    views.push_back(add(words("Show %1").arg(view->title()),
                        {QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_0 + number++))}));
  }
  inspector = add(words("Inspector"), {QKeySequence(Qt::Key_F4)});
  inspector->setCheckable(true);
  inspector->setChecked(true);
  float_inspector = add(words("Inspector in a window of its own"));
  float_inspector->setCheckable(true);
  results = add(words("Search results"), {QKeySequence(Qt::CTRL | Qt::Key_J)});
  results->setCheckable(true);
  tables = add(words("Tables and SQL queries"), {QKeySequence(Qt::CTRL | Qt::Key_T)});
  tables->setCheckable(true);
  exposed = add(words("List of exposed communication"), {QKeySequence(Qt::Key_E)});
  critical_path = add(words("Critical path on the tracks"), {QKeySequence(Qt::Key_X)});
  critical_path->setCheckable(true);
  align_steps = add(words("Align steps of open files"), {QKeySequence(Qt::Key_Y)});
  align_steps->setCheckable(true);
  align_steps->setChecked(true);
  begin(words("Go"));
  search = add(words("Search"), {QKeySequence(Qt::Key_Slash), QKeySequence(Qt::CTRL | Qt::Key_F)});
  next_hit = add(words("Next hit"), {QKeySequence(Qt::Key_N)});
  previous_hit = add(words("Previous hit"), {QKeySequence(Qt::SHIFT | Qt::Key_N)});
  next_rank = add(words("Next rank"), {QKeySequence(Qt::CTRL | Qt::Key_PageDown)});
  previous_rank = add(words("Previous rank"), {QKeySequence(Qt::CTRL | Qt::Key_PageUp)});
  begin(words("Look"));
  system_theme = add(words("Theme of the system"));
  light_theme = add(words("Light theme"));
  dark_theme = add(words("Dark theme"));
  larger = add(words("Larger text"),
               {QKeySequence(Qt::CTRL | Qt::Key_Plus), QKeySequence(Qt::CTRL | Qt::Key_Equal)});
  smaller = add(words("Smaller text"), {QKeySequence(Qt::CTRL | Qt::Key_Minus)});
  usual = add(words("Usual size of text"));
  less_motion = add(words("Less motion"));
  less_motion->setCheckable(true);
  begin(words("Help"));
  help = add(words("All keys"), {QKeySequence(Qt::Key_Question)});
  commands = add(words("All commands"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P)});
}

QAction* WindowActions::add(const QString& text, const QList<QKeySequence>& keys) {
  auto* action = new QAction(text, &window_);
  action->setShortcuts(keys);
  action->setShortcutContext(Qt::WindowShortcut);
  window_.addAction(action);
  groups_.back().actions.append(action);
  return action;
}

QList<QAction*> WindowActions::all() const {
  QList<QAction*> actions;
  for (const Group& group : groups_) actions += group.actions;
  return actions;
}

bool WindowActions::has_key(const QKeySequence& key) const {
  return std::ranges::any_of(all(),
                             [&](const QAction* one) { return one->shortcuts().contains(key); });
}

std::vector<KeyHelp> WindowActions::keys() const {
  std::vector<KeyHelp> rows;
  for (const QAction* action : all()) {
    QStringList keys;
    for (const QKeySequence& key : action->shortcuts()) {
      keys.append(key.toString(QKeySequence::NativeText));
    }
    if (!keys.isEmpty()) rows.push_back({action->text(), keys.join(QStringLiteral(", "))});
  }
  return rows;
}

}  // namespace foreshard::gui
