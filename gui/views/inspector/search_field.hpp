// The field of the search: a magnifier, what is typed, and the key that leads here. Enter goes to
// the next hit, Shift+Enter to the one before, Esc empties the field and leaves it.
#pragma once

#include <QLineEdit>

namespace foreshard::gui {

class Search;

class SearchField : public QLineEdit {
  Q_OBJECT
 public:
  explicit SearchField(Search& search, QWidget* parent = nullptr);

  QSize sizeHint() const override;

 Q_SIGNALS:
  void left();  // by Esc: the keyboard belongs to the view again

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  Search& search_;
};

}  // namespace foreshard::gui
