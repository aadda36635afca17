// Requests of two allocation histories around their first difference.
#pragma once

#include "gui/models/comparison/history_words.hpp"
#include "gui/views/base/data_table.hpp"

class QStandardItemModel;

namespace foreshard::gui {

class HistoryTable : public DataTable {
  Q_OBJECT
 public:
  explicit HistoryTable(QWidget* parent = nullptr);
  void set_words(const HistoryWords& words);

 private:
  QStandardItemModel* rows_;
};

}  // namespace foreshard::gui
