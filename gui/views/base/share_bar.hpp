// One bar cut into parts by colour, such as a step's compute and idle time or a moment's memory by
// category. Parts that are too small to see are still 1 pixel wide.
#pragma once

#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

struct Share {
  double amount = 0;
  EventColour colour;
};

class ShareBar : public PaintedWidget {
  Q_OBJECT
 public:
  explicit ShareBar(QWidget* parent = nullptr);

  // `whole`: what the bar's full width stands for; 0: the parts together.
  void set_shares(std::vector<Share> shares, double whole = 0);

  QSize sizeHint() const override { return {288, 8}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<Share> shares_;
  double whole_ = 0;
};

}  // namespace foreshard::gui
