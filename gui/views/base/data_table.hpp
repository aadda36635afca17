// A table as the design has it: rows of one height, between high ones hairlines, whole rows
// selected, headers that sort where the model does, fixed digits in every cell, and a ring around
// the current row while the keyboard is on the table.
#pragma once

#include <QTableView>

namespace foreshard::gui {

enum class RowHeight : std::uint8_t { dense, roomy };  // 24 and 36

class DataTable : public QTableView {
  Q_OBJECT
 public:
  explicit DataTable(RowHeight rows = RowHeight::dense, QWidget* parent = nullptr);

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
};

}  // namespace foreshard::gui
