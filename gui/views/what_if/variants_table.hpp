// The present settings and the pins beside each other. Delete drops a pin. Names have their room
// first; where it is narrow the bar of what is reserved is shorter, or gone, and then the last columns.
#pragma once

#include <vector>

#include "gui/views/base/data_table.hpp"
#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {

class VariantsTable : public DataTable {
  Q_OBJECT
 public:
  enum Column : std::uint8_t {
    kBadge,
    kName,
    kTokens,
    kStep,
    kMfu,
    kAllocated,
    kReserved,
    kBar,
    kColumns
  };

  explicit VariantsTable(QWidget* parent = nullptr);

  void set_variants(std::vector<Variant> variants);
  const Variant& variant(int row) const { return variants_[static_cast<std::size_t>(row)]; }
  QString shown_name(int row) const;                   // as much of it as there is room for
  int bar_width() const { return columnWidth(kBar); }  // 0: there is no room for one

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {420, sizeHint().height()}; }

 Q_SIGNALS:
  void dropped(std::size_t pin);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void choose_columns();

  std::vector<Variant> variants_;
};

}  // namespace foreshard::gui
