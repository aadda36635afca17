#include "gui/views/compare/lane_boxes.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kBoxPixels = 3;

class LaneWords {
  Q_DECLARE_TR_FUNCTIONS(Compare)
};

}  // namespace

QString lane_name(LaneKind kind) {
  switch (kind) {
    case LaneKind::compute: return LaneWords::tr("Compute");
    case LaneKind::all_gather: return LaneWords::tr("All-gather");
    case LaneKind::reduce_scatter: return LaneWords::tr("Reduce-scatter");
    case LaneKind::all_reduce: return LaneWords::tr("All-reduce");
    case LaneKind::other_communication: return LaneWords::tr("Communication");
    case LaneKind::copies: return LaneWords::tr("Copies");
    case LaneKind::host:
    case LaneKind::kCount: break;
  }
  return LaneWords::tr("Host compute");
}

LaneBoxes::LaneBoxes(const QRectF& area, bool is_predicted)
    : area_(area),
      is_predicted_(is_predicted),
      columns_(static_cast<std::size_t>(std::max(std::ceil(area.width()), 1.0))) {}

void LaneBoxes::add(QPainter& painter, double left, double right, const EventColour& colour,
                    bool is_selected) {
  if (right < area_.left() || left > area_.right()) return;
  if (is_selected)
    selected_ = QRectF(left, area_.top(), std::max(right - left, 3.0), area_.height());
  if (right - left >= kBoxPixels) {
    const double from = std::round(left), to = std::round(right);
    const QRectF box(from, area_.top(), to - from - (to - from > 5 ? 1 : 0), area_.height());
    const QColor plain = theme()[colour];
    painter.fillRect(box, is_predicted_ ? theme().towards_canvas(plain, 0.62) : plain);
    if (is_predicted_) {
      painter.fillRect(box, hatch(theme().towards_canvas(plain, 0.3), Hatch::diagonal, 5));
      painter.setPen(plain);
      painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    return;
  }
  const double from = std::max(left - area_.left(), 0.0), to = right - area_.left();
  for (auto n = static_cast<std::size_t>(from); n < columns_.size(); ++n) {
    const auto pixel = static_cast<double>(n);
    const double covered = std::min(to, pixel + 1) - std::max(from, pixel);
    if (covered < 0) break;
    Column& column = columns_[n];
    column.covered += covered;
    if (covered >= column.longest) {
      column.longest = covered;
      column.colour = colour;
    }
    if (to <= pixel + 1) break;
  }
}

void LaneBoxes::finish(QPainter& painter) {
  for (std::size_t n = 0; n < columns_.size(); ++n) {
    const Column& column = columns_[n];
    if (column.covered <= 0) continue;
    const double height = std::max(std::min(column.covered, 1.0) * area_.height(), 1.0);
    const QColor plain = theme()[column.colour];
    painter.fillRect(
        QRectF(area_.left() + static_cast<double>(n), area_.bottom() - height, 1, height),
        is_predicted_ ? theme().towards_canvas(plain, 0.35) : plain);
  }
  if (selected_.isNull()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::selection], 2));
  painter.drawRect(selected_.adjusted(1, 1, -1, -1));
}

}  // namespace foreshard::gui
