// Table cells with figures of fixed digits: in a column of them, digits stand below one another.
#pragma once

#include <QStyledItemDelegate>

namespace foreshard::gui {

// Draws Qt::DisplayRole by the cell's Qt::TextAlignmentRole (right where it has none) in its
// Qt::ForegroundRole.
class NumberDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace foreshard::gui
