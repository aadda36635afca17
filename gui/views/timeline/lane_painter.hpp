// Paints what a lane shows of a stretch of time: boxes where events are wide enough, and columns of
// stacked occupancy where they are not.
//
// Coordinates are device pixels. On an image pixels are written directly, as a tile has hundreds of
// columns; other painters get rectangles.
#pragma once

#include <QImage>
#include <QPainter>
#include <optional>
#include <vector>

#include "gui/paint/theme.hpp"
#include "gui/views/base/pixel_grid.hpp"
#include "gui/views/timeline/tile_cache.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

// How boxes of a lane are drawn.
enum class LaneStyle : std::uint8_t {
  solid,
  pale,      // a prediction next to a measured run: pale, hatched, outlined
  phase,     // a tint with a line of the colour below
  missing,   // the host waits: hatched
  modelled,  // of cost sources: what no recording knows, hatched in its colour
  unknown,   // of cost sources: an outline
};

struct LaneBox {
  traces::Interval span;
  double top = 0, height = 0;  // logical, within the row
  QColor fill;
  LaneStyle style = LaneStyle::solid;
  QString text, short_text;
  bool is_dimmed = false;  // not among the hits of a search
  bool is_on_top = false;  // a hit: drawn after what is not
};

// Of a cell of time: shares of it from the bottom up; what is left is idle.
struct LaneColumn {
  traces::Interval cell;
  double top = 0, height = 0;
  struct Part {
    QColor fill;
    double share = 0;
  };
  std::vector<Part> parts;
  bool is_dimmed = false, is_on_top = false;  // as of boxes
};

// A line along an edge of what is marked: a hit, the critical path. Drawn last, at least 2 pixels wide.
struct LaneTick {
  traces::Interval span;
  double top = 0, height = 0;
  QColor colour;
};

struct LaneShapes {
  std::vector<LaneBox> boxes;
  std::vector<LaneColumn> columns;
  std::vector<LaneTick> ticks;
};

// The tile [first, first + width) of a row, and the labels of its boxes. Any thread.
Tile paint_tile(const LaneShapes& shapes, const PixelGrid& grid, std::int64_t first, int width,
                double height, const Theme& theme);
// The same by a painter whose lanes begin at `origin`; no labels.
void paint_lane(QPainter& painter, QPointF origin, const LaneShapes& shapes, const PixelGrid& grid,
                const Theme& theme);
std::vector<BoxLabel> labels_of(const LaneShapes& shapes, const PixelGrid& grid,
                                const Theme& theme);

// Where records were lost, hatched as a warning.
enum class LostRecords : std::uint8_t { events, memory, all };

// Over `lane`, whose left edge is that of the grid; of one rank, or of all.
void paint_dropped_ranges(QPainter& painter, const QRectF& lane, const PixelGrid& grid,
                          const traces::Trace& trace, LostRecords which,
                          std::optional<int> rank = {});

}  // namespace foreshard::gui
