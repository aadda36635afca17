// The table of what explains the difference, worst first, with a bar for each difference. Columns
// that say less give way where it is narrow.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/data_table.hpp"

namespace foreshard::gui {

class CausesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { name, events, baseline, candidate, difference, percent, category, costs, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void show(std::shared_ptr<const TraceComparison> comparison, bool are_on_device);
  const ShownCauses& shown() const { return shown_; }
  const Cause& cause(int row) const { return shown_.causes[static_cast<std::size_t>(row)]; }
  struct Reach {
    std::int64_t shorter_ns = 0, longer_ns = 0;  // the largest difference of either sign
  };
  Reach reach() const;
  QString as_text() const;  // a line for each row, columns separated by tabs
  bool has_costs() const;   // whether the candidate says where its times come from

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::shared_ptr<const TraceComparison> comparison_;
  ShownCauses shown_;
};

class CausesTable : public DataTable {
  Q_OBJECT
 public:
  explicit CausesTable(QWidget* parent = nullptr);

  // Kernels and collectives, or what the host did; selects the worst.
  void show(std::shared_ptr<const TraceComparison> comparison, bool are_on_device);
  const Cause* current() const;
  void select(const std::string& name);  // nothing happens where it has no row
  void step(int rows);                   // 1: the next worst
  QString as_text() const { return model_->as_text(); }

 Q_SIGNALS:
  void cause_chosen();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void choose_columns();

  CausesModel* model_;
};

}  // namespace foreshard::gui
