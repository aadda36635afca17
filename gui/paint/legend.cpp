#include "gui/paint/legend.hpp"

#include "gui/paint/figures.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kMarkGap = 6, kEntryGap = 18;

}  // namespace

Legend::Legend(const std::vector<LegendItem>& entries, QPointF top_left, double width) {
  const double line = scaled(20);
  QPointF at = top_left;
  for (const LegendItem& entry : entries) {
    const double room =
        entry.mark_width + kMarkGap + figure_width(font(Text::secondary), entry.text);
    if (at.x() > top_left.x() && at.x() + room > top_left.x() + width) {
      at = {top_left.x(), at.y() + line};
    }
    places_.push_back({entry, at + QPointF(entry.mark_width / 2, line / 2)});
    at.rx() += room + kEntryGap;
  }
  if (!places_.empty()) height_ = at.y() + line - top_left.y();
}

void Legend::paint(QPainter& painter) const {
  painter.setFont(font(Text::secondary));
  for (const auto& [entry, mark] : places_) {
    entry.draw_mark(painter, mark);
    painter.setPen(theme()[Role::text2]);
    draw_figure(painter, QRectF(mark.x() + entry.mark_width / 2 + kMarkGap, mark.y() - 9, 0, 18),
                Qt::AlignLeft, entry.text);
  }
}

}  // namespace foreshard::gui
