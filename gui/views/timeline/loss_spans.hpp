// Where records were lost, hatched as a warning.
#pragma once

#include <QPainter>
#include <optional>

#include "gui/views/timeline/pixel_grid.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

enum class LostRecords : std::uint8_t { events, memory, all };

// Over `lane`, whose left edge is that of the grid; of one rank, or of all.
void paint_losses(QPainter& painter, const QRectF& lane, const PixelGrid& grid,
                  const traces::Trace& trace, LostRecords which, std::optional<int> rank = {});

}  // namespace foreshard::gui
