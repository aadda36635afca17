// The field for searches in the top bar: a magnifier, what was typed, and the key that leads here.
#pragma once

#include <QLineEdit>

namespace foreshard::gui {

class SearchField : public QLineEdit {
  Q_OBJECT
 public:
  explicit SearchField(QWidget* parent = nullptr);

 Q_SIGNALS:
  void left();  // by Esc: the keyboard goes back to the view

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
};

}  // namespace foreshard::gui
