#include "gui/views/base/share_bar.hpp"

#include <algorithm>
#include <utility>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {

ShareBar::ShareBar(QWidget* parent) : PaintedWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void ShareBar::set_shares(std::vector<Share> shares, double whole) {
  shares_ = std::move(shares);
  whole_ = whole;
  update();
}

void ShareBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::hover]);
  double whole = whole_;
  if (whole <= 0) {
    for (const Share& share : shares_) whole += share.amount;
  }
  if (whole <= 0) return;
  double x = 0;
  for (const Share& share : shares_) {
    if (share.amount <= 0) continue;
    const double wide = std::max(1.0, share.amount / whole * width());
    painter.fillRect(QRectF(x, 0, std::min(wide, width() - x), height()), theme()[share.colour]);
    x += wide;
  }
}

}  // namespace foreshard::gui
