// What every key moved by one notch would bring, best first, or in the order of a column. A click on
// Apply, a double click or Enter makes the change.
#pragma once

#include <memory>

#include "gui/models/what_if/surroundings.hpp"
#include "gui/views/base/data_table.hpp"

namespace foreshard::gui {

class NeighboursTable : public DataTable {
  Q_OBJECT
 public:
  enum Column : std::uint8_t { kChange, kTokens, kReserved, kApply, kColumns };

  explicit NeighboursTable(QWidget* parent = nullptr);

  // Null: not known yet, for the present settings.
  void set_surroundings(std::shared_ptr<const Surroundings> surroundings);

 Q_SIGNALS:
  void applied(const Changes& changes);

 private:
  void show_neighbours();
  void apply(int row);

  std::shared_ptr<const Surroundings> surroundings_;  // the last that was known
  bool is_stale_ = true;
};

}  // namespace foreshard::gui
