#include "gui/views/base/number_delegate.hpp"

#include <QApplication>
#include <QPainter>
#include <cmath>

#include "gui/paint/figures.hpp"
#include "gui/views/base/table_header.hpp"

namespace foreshard::gui {

void NumberDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                           const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  const QString text = cell.text;
  cell.text.clear();
  cell.state &= ~QStyle::State_HasFocus;  // the table rings the whole row
  const QStyle* style = cell.widget != nullptr ? cell.widget->style() : QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);

  const QVariant asked = index.data(Qt::TextAlignmentRole);
  const auto alignment = asked.isValid() ? Qt::Alignment(asked.toInt()) : Qt::AlignRight;
  const QRectF box = QRectF(cell.rect).adjusted(kCellMargin, 0, -kCellMargin, 0);
  painter->save();
  painter->setFont(cell.font);
  painter->setPen(cell.palette.color(QPalette::Text));
  draw_figure(*painter, box, alignment, elided_figure(cell.font, text, box.width()));
  painter->restore();
}

QSize NumberDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  const QSize usual = QStyledItemDelegate::sizeHint(option, index);
  const double width = figure_width(cell.font, cell.text) + 2 * kCellMargin;
  return {static_cast<int>(std::ceil(width)), usual.height()};
}

}  // namespace foreshard::gui
