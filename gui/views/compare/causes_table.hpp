// The table of what explains the difference, worst first, with a bar for each difference. Columns
// that say less give way where it is narrow.
#pragma once

#include <memory>

#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/data_table.hpp"

namespace foreshard::gui {

class CausesTable : public DataTable {
  Q_OBJECT
 public:
  enum Column : std::uint8_t {
    kName,
    kEvents,
    kBaseline,
    kCandidate,
    kDifference,
    kPercent,
    kCategory,
    kCosts,  // hidden where the candidate does not say where its times come from
    kColumns
  };

  explicit CausesTable(QWidget* parent = nullptr);

  // Kernels and collectives, or what the host did; selects the worst.
  void show(const std::shared_ptr<const TraceComparison>& comparison, bool are_on_device);
  const std::vector<Cause>& causes() const { return shown_.causes; }
  const Cause& cause(int row) const { return shown_.causes[static_cast<std::size_t>(row)]; }
  const Cause* current() const;
  void select(const std::string& name);  // nothing happens where it has no row
  void step(int by);                     // 1: the next worst

 Q_SIGNALS:
  void cause_chosen();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  int rows() const { return static_cast<int>(shown_.causes.size()); }
  std::vector<TableCell> row_of(const Cause& one) const;
  void choose_columns();

  ShownCauses shown_;
};

}  // namespace foreshard::gui
