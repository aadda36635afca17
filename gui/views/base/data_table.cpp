#include "gui/views/base/data_table.hpp"

#include <QKeyEvent>
#include <QPainter>
#include <algorithm>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/number_delegate.hpp"
#include "gui/views/base/table_header.hpp"

namespace foreshard::gui {
namespace {

constexpr int kColumnRoom = 12;
constexpr int kWidestColumn = 420;  // names of kernels can be whole C++ signatures

}  // namespace

DataTable::DataTable(RowHeight rows, QWidget* parent) : QTableView(parent), rows_(rows) {
  setHorizontalHeader(new TableHeader(this));
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
  connect(this, &QTableView::activated, this,
          [this](const QModelIndex& index) { Q_EMIT row_activated(index.row()); });
  connect(&Appearance::instance(), &Appearance::changed, this, &DataTable::set_row_height);
  set_row_height();
}

void DataTable::fit_columns(int stretched) {
  resizeColumnsToContents();
  for (int column = 0; column < model()->columnCount(); ++column) {
    setColumnWidth(column, std::min(columnWidth(column) + kColumnRoom, scaled(kWidestColumn)));
  }
  if (stretched >= 0) horizontalHeader()->setSectionResizeMode(stretched, QHeaderView::Stretch);
}

void DataTable::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  QPainter painter(viewport());
  ring_current_row(painter);
  if (rows_ == RowHeight::dense || model() == nullptr) return;
  painter.setPen(QPen(theme()[Role::line], 0));
  for (int row = std::max(0, rowAt(0)); row < model()->rowCount(); ++row) {
    const int bottom = rowViewportPosition(row) + rowHeight(row) - 1;
    if (bottom > viewport()->height()) break;
    painter.drawLine(0, bottom, viewport()->width(), bottom);
  }
}

void DataTable::ring_current_row(QPainter& painter) const {
  if (!hasFocus() || !currentIndex().isValid()) return;
  const int row = currentIndex().row();
  painter.setPen(QPen(theme()[Role::focus], 2));
  painter.drawRect(
      QRect(1, rowViewportPosition(row) + 1, viewport()->width() - 2, rowHeight(row) - 2));
}

// A view repaints no more than the cells that changed, but the ring goes around all of a row.
void DataTable::currentChanged(const QModelIndex& now, const QModelIndex& before) {
  QTableView::currentChanged(now, before);
  viewport()->update();
}

void DataTable::keyPressEvent(QKeyEvent* event) {
  const QString text = event->text();
  const bool is_letter = !text.isEmpty() && text.front().isPrint() && !text.front().isSpace();
  if (is_letter) return event->ignore();
  QTableView::keyPressEvent(event);
}

void DataTable::focusInEvent(QFocusEvent* event) {
  QTableView::focusInEvent(event);
  viewport()->update();
}

void DataTable::focusOutEvent(QFocusEvent* event) {
  QTableView::focusOutEvent(event);
  viewport()->update();
}

void DataTable::set_row_height() {
  verticalHeader()->setDefaultSectionSize(scaled(rows_ == RowHeight::dense ? 24 : 36));
}

}  // namespace foreshard::gui
