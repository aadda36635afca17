// A section of the panel that folds: a title with a triangle, a summary at the right, rows below.
#pragma once

#include <QAbstractButton>
#include <QVBoxLayout>

namespace foreshard::gui {

class FoldSection : public QWidget {
  Q_OBJECT
 public:
  FoldSection(const QString& title, bool is_open, QWidget* parent);

  void add_row(QWidget* row);
  void set_summary(const QString& summary);
  void set_open(bool is_open);
  bool is_open() const;

 private:
  class Header;

  Header* header_;
  QWidget* body_;
  QVBoxLayout* rows_;
};

}  // namespace foreshard::gui
