#include "gui/views/base/data_table.hpp"

#include <QHeaderView>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/number_delegate.hpp"

namespace foreshard::gui {

DataTable::DataTable(RowHeight rows, QWidget* parent) : QTableView(parent), rows_(rows) {
  setItemDelegate(new NumberDelegate(this));
  setSelectionBehavior(SelectRows);
  setSelectionMode(SingleSelection);
  setEditTriggers(NoEditTriggers);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);  // Tab leaves the table
  setVerticalScrollMode(ScrollPerPixel);
  setHorizontalScrollMode(ScrollPerPixel);
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setResizeContentsPrecision(64);
  connect(this, &QTableView::activated, this,
          [this](const QModelIndex& index) { Q_EMIT row_activated(index.row()); });
  connect(&Appearance::instance(), &Appearance::changed, this, &DataTable::set_row_height);
  set_row_height();
}

void DataTable::fit_columns(int stretched) {
  resizeColumnsToContents();
  if (stretched >= 0) horizontalHeader()->setSectionResizeMode(stretched, QHeaderView::Stretch);
}

void DataTable::set_row_height() {
  verticalHeader()->setDefaultSectionSize(scaled(rows_ == RowHeight::dense ? 24 : 36));
}

}  // namespace foreshard::gui
