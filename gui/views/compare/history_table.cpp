#include "gui/views/compare/history_table.hpp"

#include <QHeaderView>
#include <QStandardItemModel>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {

HistoryTable::HistoryTable(QWidget* parent)
    : DataTable(RowHeight::dense, parent), rows_(new QStandardItemModel(this)) {
  setAccessibleName(tr("Requests around the first difference"));
  setModel(rows_);
}

void HistoryTable::set_words(const HistoryWords& words) {
  rows_->clear();
  rows_->setHorizontalHeaderLabels({QString(), words.before, words.after});
  for (const HistoryRow& row : words.rows) {
    QList<QStandardItem*> items;
    for (const QString& text :
         {row.is_equal ? tr("equal") : tr("differs"), row.baseline, row.candidate}) {
      auto* item = new QStandardItem(text);
      item->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
      item->setForeground(theme()[row.is_equal ? Role::text2 : Role::text]);
      items << item;
    }
    rows_->appendRow(items);
  }
  resizeColumnsToContents();
  horizontalHeader()->setStretchLastSection(true);
}

}  // namespace foreshard::gui
