#include "gui/views/timeline/lane_painter.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "gui/models/session/dropped_range_words.hpp"
#include "gui/paint/hatch.hpp"

namespace foreshard::gui {
namespace {

constexpr std::int64_t kGapFrom = 5;  // pixels, from which boxes leave one between them
constexpr double kLabelFrom = 14;     // below, not even a short form fits
constexpr double kPale = 0.62, kPhasePale = 0.75, kDimmed = 0.65;  // towards the canvas
constexpr double kHatchPale = 0.5, kPaleHatch = 0.4;               // labels stay readable on both
constexpr double kPhaseLine = 2;

struct PixelRect {
  std::int64_t left, top, width, height;
};
using FillBox = std::function<void(const PixelRect&, QColor)>;
using FillTexture = std::function<void(const PixelRect&, const QBrush&)>;

struct Brushes {
  FillBox fill;
  FillTexture texture;
};

std::int64_t in_pixels(double logical, double ratio) {
  return std::lround(logical * ratio);
}

void outline(const Brushes& brushes, const PixelRect& box, QColor colour) {
  brushes.fill({box.left, box.top, box.width, 1}, colour);
  brushes.fill({box.left, box.top + box.height - 1, box.width, 1}, colour);
  brushes.fill({box.left, box.top, 1, box.height}, colour);
  brushes.fill({box.left + box.width - 1, box.top, 1, box.height}, colour);
}

QColor dimmed_if(bool is_dimmed, QColor fill, const Theme& theme) {
  return is_dimmed ? theme.towards_canvas(fill, kDimmed) : fill;
}

void paint_box(const Brushes& brushes, const LaneBox& box, const PixelRect& at, const Theme& theme,
               double ratio) {
  const QColor fill = dimmed_if(box.is_dimmed, box.fill, theme);
  switch (box.style) {
    case LaneStyle::solid: brushes.fill(at, fill); break;
    case LaneStyle::pale:
      brushes.fill(at, theme.towards_canvas(fill, kPale));
      brushes.texture(at, hatch(theme.towards_canvas(fill, kPaleHatch)));
      outline(brushes, at, fill);
      break;
    case LaneStyle::phase: {
      brushes.fill(at, theme.towards_canvas(fill, kPhasePale));
      const std::int64_t line = in_pixels(kPhaseLine, ratio);
      brushes.fill({at.left, at.top + at.height - line, at.width, line}, fill);
      break;
    }
    case LaneStyle::modelled:
      brushes.fill(at, fill);
      brushes.texture(at, hatch(theme.towards_canvas(fill, kHatchPale)));
      break;
    case LaneStyle::unknown:
      brushes.fill(at, theme.towards_canvas(fill, kPale));
      outline(brushes, at, fill);
      break;
    case LaneStyle::missing:
      brushes.fill(at, theme[Role::shade]);
      brushes.texture(at, hatch(theme[Role::strong_line]));
      break;
  }
}

// Of a box or a tick.
template <class Shape>
PixelRect place_of(const Shape& box, const PixelGrid& grid, std::int64_t first) {
  const std::int64_t from = grid.pixel(box.span.start_ns) - first;
  const std::int64_t wide = grid.pixel(box.span.end_ns) - first - from;
  const std::int64_t shown = wide > kGapFrom ? wide - 1 : std::max<std::int64_t>(wide, 2);
  return {from, in_pixels(box.top, grid.ratio), shown, in_pixels(box.height, grid.ratio)};
}

void paint_column(const Brushes& brushes, const LaneColumn& column, const PixelGrid& grid,
                  std::int64_t first, const Theme& theme) {
  const std::int64_t from = grid.pixel(column.cell.start_ns) - first;
  const std::int64_t width =
      std::max<std::int64_t>(grid.pixel(column.cell.end_ns) - first - from, 1);
  const std::int64_t top = in_pixels(column.top, grid.ratio);
  const std::int64_t height = in_pixels(column.height, grid.ratio);
  std::int64_t bottom = top + height;
  for (const LaneColumn::Part& part : column.parts) {
    const std::int64_t wanted =
        std::max<std::int64_t>(std::lround(part.share * static_cast<double>(height)), 1);
    const std::int64_t high = std::min(wanted, bottom - top);
    if (high <= 0) break;
    bottom -= high;
    brushes.fill({from, bottom, width, high}, dimmed_if(column.is_dimmed, part.fill, theme));
  }
}

void paint_shapes(const Brushes& brushes, const LaneShapes& shapes, const PixelGrid& grid,
                  std::int64_t first, const Theme& theme) {
  for (const bool is_on_top : {false, true}) {
    for (const LaneColumn& column : shapes.columns) {
      if (column.is_on_top == is_on_top) paint_column(brushes, column, grid, first, theme);
    }
    for (const LaneBox& box : shapes.boxes) {
      if (box.is_on_top == is_on_top) {
        paint_box(brushes, box, place_of(box, grid, first), theme, grid.ratio);
      }
    }
  }
  for (const LaneTick& tick : shapes.ticks) brushes.fill(place_of(tick, grid, first), tick.colour);
}

}  // namespace

std::vector<BoxLabel> labels_of(const LaneShapes& shapes, const PixelGrid& grid,
                                const Theme& theme) {
  std::vector<BoxLabel> labels;
  for (const LaneBox& box : shapes.boxes) {
    const double width =
        static_cast<double>(box.span.end_ns - box.span.start_ns) / grid.ns_per_pixel / grid.ratio;
    if (box.text.isEmpty() || width < kLabelFrom) continue;
    const QColor fill = dimmed_if(box.is_dimmed, box.fill, theme);
    const bool is_on_fill = box.style == LaneStyle::solid || box.style == LaneStyle::modelled;
    labels.push_back({box.span, box.top, box.height, box.text, box.short_text,
                      is_on_fill ? theme.text_on(fill) : theme[Role::text],
                      box.style == LaneStyle::phase});
  }
  return labels;
}

Tile paint_tile(const LaneShapes& shapes, const PixelGrid& grid, std::int64_t first, int width,
                double height, const Theme& theme) {
  Tile tile;
  tile.image = QImage(width, static_cast<int>(in_pixels(height, grid.ratio)),
                      QImage::Format_ARGB32_Premultiplied);
  tile.image.fill(Qt::transparent);
  const auto clipped = [&](const PixelRect& box) {
    const std::int64_t left = std::clamp<std::int64_t>(box.left, 0, width);
    const std::int64_t right = std::clamp<std::int64_t>(box.left + box.width, 0, width);
    const std::int64_t top = std::clamp<std::int64_t>(box.top, 0, tile.image.height());
    const std::int64_t bottom =
        std::clamp<std::int64_t>(box.top + box.height, 0, tile.image.height());
    return QRect(static_cast<int>(left), static_cast<int>(top), static_cast<int>(right - left),
                 static_cast<int>(bottom - top));
  };
  Brushes brushes;
  brushes.fill = [&](const PixelRect& box, QColor colour) {
    const QRect at = clipped(box);
    for (int y = at.top(); y <= at.bottom(); ++y) {
      auto* line = reinterpret_cast<QRgb*>(tile.image.scanLine(y)) + at.left();
      std::fill_n(line, at.width(), colour.rgb());
    }
  };
  brushes.texture = [&](const PixelRect& box, const QBrush& brush) {
    QPainter painter(&tile.image);
    // Textures hang on the grid's origin, so that neighbouring tiles continue one another.
    const QImage texture = brush.textureImage();
    const int period = static_cast<int>(texture.width() / texture.devicePixelRatio());
    painter.setBrushOrigin(-static_cast<int>(first % period), 0);
    painter.fillRect(clipped(box), brush);
  };
  paint_shapes(brushes, shapes, grid, first, theme);
  tile.labels = labels_of(shapes, grid, theme);
  return tile;
}

void paint_lane(QPainter& painter, QPointF origin, const LaneShapes& shapes, const PixelGrid& grid,
                const Theme& theme) {
  const auto place = [&](const PixelRect& box) {
    const std::int64_t left = std::clamp<std::int64_t>(box.left, -8, grid.count + 8);
    const std::int64_t right = std::clamp<std::int64_t>(box.left + box.width, -8, grid.count + 8);
    return QRectF(origin.x() + static_cast<double>(left) / grid.ratio,
                  origin.y() + static_cast<double>(box.top) / grid.ratio,
                  static_cast<double>(right - left) / grid.ratio,
                  static_cast<double>(box.height) / grid.ratio);
  };
  Brushes brushes;
  brushes.fill = [&](const PixelRect& box, QColor colour) { painter.fillRect(place(box), colour); };
  brushes.texture = [&](const PixelRect& box, const QBrush& brush) {
    painter.fillRect(place(box), brush);
  };
  paint_shapes(brushes, shapes, grid, grid.first, theme);
}

void paint_dropped_ranges(QPainter& painter, const QRectF& lane, const PixelGrid& grid,
                          const traces::Trace& trace, LostRecords which, std::optional<int> rank) {
  if (trace.dropped_ranges.empty()) return;
  constexpr double kLeastWidth = 2;
  const QBrush brush = hatch(theme()[Role::warn]);
  const QPointF origin = painter.brushOrigin();
  painter.setBrushOrigin(QPointF(lane.left() + grid.x(grid.origin_ns), 0));
  double painted_until = 0;  // further ranges within the same pixels show nothing more
  for (const traces::DroppedRange& range : trace.dropped_ranges) {
    if (which != LostRecords::all && range.of_memory != (which == LostRecords::memory)) continue;
    if (!concerns(range, rank)) continue;
    const double from = std::max(grid.x(range.start_ns), painted_until);
    const double until = std::min(
        std::max(grid.x(range.end_ns), grid.x(range.start_ns) + kLeastWidth), lane.width());
    if (until <= from) continue;
    painter.fillRect(QRectF(lane.left() + from, lane.top(), until - from, lane.height()), brush);
    painted_until = until;
  }
  painter.setBrushOrigin(origin);
}

}  // namespace foreshard::gui
