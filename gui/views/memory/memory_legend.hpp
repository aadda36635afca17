// A row of swatches with the categories of memory, and what hatches mean.
#pragma once

#include <vector>

#include "gui/models/memory/memory_category.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class MemoryLegend : public PaintedWidget {
  Q_OBJECT
 public:
  explicit MemoryLegend(QWidget* parent = nullptr);
  void set_categories(std::vector<MemoryCategory> categories);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<MemoryCategory> categories_;
};

}  // namespace foreshard::gui
