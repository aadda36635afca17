#include "gui/views/inspector/command_palette.hpp"

#include <QAction>
#include <utility>

#include "gui/views/inspector/key_list.hpp"

namespace foreshard::gui {
namespace {

// As an action's words read outside of a menu: "&Open..." becomes "Open".
QString plain_words(QString text) {
  text.remove(QLatin1Char('&'));
  while (text.endsWith(QLatin1Char('.')) || text.endsWith(QChar(0x2026))) text.chop(1);
  return text;
}

}  // namespace

CommandPalette::CommandPalette(QWidget* window)
    : FilteredOverlay(window, {560, 480}, tr("Type a command")) {
  setAccessibleName(tr("Commands"));
  connect(this, &FilteredOverlay::row_chosen, this, [this](int id) {
    const QPointer<QAction> action = actions_.value(id);
    close_overlay();
    if (action != nullptr) action->trigger();
  });
}

void CommandPalette::show_commands(const QList<QAction*>& actions) {
  std::vector<KeyRow> rows;
  actions_.clear();
  for (QAction* action : actions) {
    if (action->text().isEmpty() || action->isSeparator() || !action->isVisible()) continue;
    QStringList keys;
    for (const QKeySequence& sequence : action->shortcuts()) {
      keys << sequence.toString(QKeySequence::NativeText);
    }
    rows.push_back({plain_words(action->text()), keys.join(QStringLiteral(", ")), false,
                    action->isEnabled(), static_cast<int>(actions_.size())});
    actions_ << action;
  }
  list()->set_rows(std::move(rows));
  open_cleared();
}

}  // namespace foreshard::gui
