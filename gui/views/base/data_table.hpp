// A table as the design has it: rows of one height, between high ones hairlines, whole rows
// selected, headers that sort where the model does, fixed digits in every cell, and a ring around
// the current row while the keyboard is on the table. It may hold its rows itself.
#pragma once

#include <QHeaderView>
#include <QStyledItemDelegate>
#include <QTableView>
#include <vector>

#include "gui/models/base/colour_role.hpp"

class QStandardItemModel;

namespace foreshard::gui {

enum class RowHeight : std::uint8_t { dense, roomy };  // 24 and 36

struct TableColumn {
  QString title;
  bool is_figure = false;  // stands at the right
};

struct TableCell {
  QString text;
  Role role = Role::text;
  QVariant order{};  // by which rows are sorted; the text where there is none
  QString tooltip{};
};

class DataTable : public QTableView {
  Q_OBJECT
 public:
  explicit DataTable(RowHeight rows = RowHeight::dense, QWidget* parent = nullptr);

  // In place of a model of somebody else's. Sorted as the header says, where it says so.
  void show_rows(const std::vector<TableColumn>& columns,
                 const std::vector<std::vector<TableCell>>& rows);
  int source_row(int row) const;  // of what was shown: rows may have been sorted since
  // Headers and rows, a line each, columns separated by tabs; columns that say nothing are left out.
  QString as_text() const;

  // By the header and the widest of the first rows; the column `stretched` takes what is left.
  void fit_columns(int stretched = -1);

 Q_SIGNALS:
  void row_activated(int row);  // Enter or double click

 protected:
  void paintEvent(QPaintEvent* event) override;
  void currentChanged(const QModelIndex& now, const QModelIndex& before) override;
  void keyPressEvent(QKeyEvent* event) override;  // letters are commands of the view
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  void ring_current_row(QPainter& painter) const;  // while the keyboard is on the table
  void set_row_height();

  RowHeight rows_;
  QStandardItemModel* own_ = nullptr;
  int stretched_ = -1;
};

constexpr int kCellMargin = 8;  // left and right of what stands in a cell, and in its header

// Draws Qt::DisplayRole with digits of one width by the cell's Qt::TextAlignmentRole (right where it
// has none) in the colour of its text.
class NumberDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace foreshard::gui
