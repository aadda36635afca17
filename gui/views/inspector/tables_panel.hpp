// Tables of the current document's trace, at the bottom of the window: a list of those that are asked for most, the SQL
// of the chosen one, which can be changed, and its rows. A row that tells a moment is gone to as soon as it is current:
// the arrow keys lead from the longest exposed collective or idle gap to the next. Of a recording that grows the rows stay
// until Enter asks again: a database of it takes too long to be made each second.
#pragma once

#include <QWidget>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/query/trace_tables.hpp"
#include "gui/models/session/session.hpp"

class QComboBox;
class QLineEdit;

namespace foreshard::gui {

class DataTable;
class TextLabel;

class TablesPanel : public QWidget {
  Q_OBJECT
 public:
  explicit TablesPanel(Session& session, QWidget* parent = nullptr);

  void show_table(std::size_t named);  // of named_tables()
  bool is_busy() const { return answers_.is_busy(); }
  QComboBox& choices() const { return *choices_; }
  QLineEdit& sql() const { return *sql_; }
  DataTable& table() const { return *table_; }
  QString headline() const;  // "33 rows", or what is wrong with the SQL

 Q_SIGNALS:
  void busy_changed();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void follow_document();
  void ask_again();
  void show_answer(TraceTable answer);
  void go_to(int row);

  Session& session_;
  QComboBox* choices_;
  QLineEdit* sql_;
  TextLabel* headline_;
  DataTable* table_;
  TraceTable answer_;
  QString asked_;  // what the answer, or the one that is awaited, is to
  DocumentPtr asked_of_;
  NewestResult<TraceTable> answers_;
};

}  // namespace foreshard::gui
