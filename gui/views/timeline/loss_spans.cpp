#include "gui/views/timeline/loss_spans.hpp"

#include <algorithm>

#include "gui/models/session/loss_words.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {

void paint_losses(QPainter& painter, const QRectF& lane, const PixelGrid& grid,
                  const traces::Trace& trace, LostRecords which, std::optional<int> rank) {
  if (trace.losses.empty()) return;
  constexpr double kLeastWidth = 2;
  const QBrush brush = hatch(theme()[Role::warn]);
  const QPointF origin = painter.brushOrigin();
  painter.setBrushOrigin(QPointF(lane.left() + grid.x(grid.origin_ns), 0));
  double painted_until = 0;  // further losses within the same pixels show nothing more
  for (const traces::Loss& loss : trace.losses) {
    if (which != LostRecords::all && loss.of_memory != (which == LostRecords::memory)) continue;
    if (!concerns(loss, rank)) continue;
    const double from = std::max(grid.x(loss.start_ns), painted_until);
    const double until =
        std::min(std::max(grid.x(loss.end_ns), grid.x(loss.start_ns) + kLeastWidth), lane.width());
    if (until <= from) continue;
    painter.fillRect(QRectF(lane.left() + from, lane.top(), until - from, lane.height()), brush);
    painted_until = until;
  }
  painter.setBrushOrigin(origin);
}

}  // namespace foreshard::gui
