// A list of what can be done with its keys, in a panel in front of the window, which is dimmed behind
// it: the help that `?` opens, and the commands that Ctrl+Shift+P opens. Typing narrows it to the rows
// that hold every word, up and down move in it, Enter chooses. Esc or a click beside the panel closes
// it, and the keyboard goes back to where it was.
#pragma once

#include <QList>
#include <QPointer>
#include <vector>

#include "gui/views/base/painted_widget.hpp"
#include "gui/views/base/view.hpp"

class QAction;
class QLineEdit;
class QListWidget;
class QVBoxLayout;

namespace foreshard::gui {

struct KeySection {
  QString title;  // "Timeline"
  std::vector<KeyHelp> keys;
};

class KeyOverlay : public PaintedWidget {
  Q_OBJECT
 public:
  // Over `window`, whose size it follows; hidden until it is opened. `largest`: of the panel, where
  // there is room for it.
  KeyOverlay(QWidget* window, QSize largest, const QString& name, const QString& placeholder);

  void show_keys(const std::vector<KeySection>& sections);
  // Actions without words and invisible ones are left out; disabled ones are greyed.
  void show_commands(const QList<QAction*>& actions);
  void close_overlay();

  QLineEdit* field() const { return field_; }
  QStringList shown() const;  // the words of the rows that are left
  QRect panel() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void add_row(const QString& text, const QString& keys, bool is_heading, bool can_be_chosen);
  void open();
  void filter(const QString& words);
  void choose();

  QSize largest_;
  QVBoxLayout* content_;
  QLineEdit* field_;
  QListWidget* list_;
  QList<QPointer<QAction>> actions_;  // by row; none in a list of keys
  QPointer<QWidget> focus_before_;
};

}  // namespace foreshard::gui
