// Swatches with the categories of memory, and what hatches mean, in as many lines as they need.
#pragma once

#include <vector>

#include "gui/models/memory/memory_category.hpp"
#include "gui/paint/legend.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class MemoryLegend : public PaintedWidget {
  Q_OBJECT
 public:
  explicit MemoryLegend(QWidget* parent = nullptr);
  void set_categories(const std::vector<MemoryCategory>& categories);

  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override { return {900, heightForWidth(900)}; }
  QSize minimumSizeHint() const override { return {0, heightForWidth(width())}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Legend legend_in(int width) const;

  std::vector<LegendItem> entries_;
};

}  // namespace foreshard::gui
