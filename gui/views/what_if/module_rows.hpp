// Rows of the tree of modules: a box with a check, the module's name, and a ring on the row where
// the keyboard is.
#pragma once

#include <QStyledItemDelegate>

namespace foreshard::gui {

class ModuleRows : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace foreshard::gui
