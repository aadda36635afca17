#include "gui/views/what_if/module_rows.hpp"

#include <QPainter>
#include <QStyle>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kModuleRow = 22;

void draw_box(QPainter& painter, QPointF centre, bool is_checked) {
  const Theme& t = theme();
  painter.setPen(QPen(t[is_checked ? Role::ink : Role::strong_line], 1));
  painter.setBrush(t[is_checked ? Role::ink : Role::raised]);
  painter.drawRoundedRect(QRectF(centre - QPointF(6.5, 6.5), QSizeF(13, 13)), 3, 3);
  if (is_checked) draw_check(painter, centre, t[Role::canvas]);
}

}  // namespace

void ModuleRows::paint(QPainter* painter, const QStyleOptionViewItem& option,
                       const QModelIndex& index) const {
  QStyleOptionViewItem row = option;
  initStyleOption(&row, index);
  const QStyle& style = *row.widget->style();
  const QRectF box = style.subElementRect(QStyle::SE_ItemViewItemCheckIndicator, &row, row.widget);
  const QRectF text = style.subElementRect(QStyle::SE_ItemViewItemText, &row, row.widget);
  painter->save();
  if ((row.state & QStyle::State_MouseOver) != 0) {
    painter->fillRect(row.rect, theme()[Role::hover]);
  }
  painter->setRenderHint(QPainter::Antialiasing);
  draw_box(*painter, box.center(), row.checkState == Qt::Checked);
  painter->setFont(row.font);
  painter->setPen(theme()[Role::text]);
  painter->drawText(text.adjusted(4, 0, 0, 0), Qt::AlignVCenter, row.text);
  if ((row.state & QStyle::State_HasFocus) != 0) {
    painter->setPen(QPen(theme()[Role::focus], 2));
    painter->setBrush(Qt::NoBrush);
    painter->drawRoundedRect(QRectF(row.rect).adjusted(1, 1, -1, -1), 4, 4);
  }
  painter->restore();
}

QSize ModuleRows::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  return {QStyledItemDelegate::sizeHint(option, index).width() + 8, scaled(kModuleRow)};
}

}  // namespace foreshard::gui
