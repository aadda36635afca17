// Swatches with the categories of memory, and what hatches mean, in as many lines as they need.
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

  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override { return {900, heightForWidth(900)}; }
  QSize minimumSizeHint() const override { return {0, heightForWidth(width())}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Entry {
    QString name;
    Role role = Role::host;
    bool is_hatched = false;
    double left = 0;
    int line = 0;
  };

  std::vector<Entry> entries_in(int width) const;

  std::vector<MemoryCategory> categories_;
};

}  // namespace foreshard::gui
