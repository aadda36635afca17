// Draws the visible part of rows from their tiles, and the labels of their boxes.
//
// Where a tile is missing the nearest other scale is stretched; where no scale has anything the frame
// waits a moment for the workers.
#pragma once

#include <QPainter>
#include <vector>

#include "gui/views/base/pixel_grid.hpp"
#include "gui/views/timeline/tile_cache.hpp"

namespace foreshard::gui {

// A row, or a stretch of one, at its place on the painter: lanes that are moved against one another have
// grids of their own, of one scale.
struct TileRow {
  std::int32_t id = 0;  // as TileKey has it
  double left = 0, top = 0, height = 0;
  PixelGrid grid;
};

// A label at its place; it points into its tile.
struct PlacedLabel {
  QRectF box;  // what is seen of the box
  const BoxLabel* label;
};

class TileLayer {
 public:
  explicit TileLayer(TileCache& cache) : cache_(cache) {}

  // While the scale `is_changing` only what nothing stands in for is asked for. Labels are left to be
  // painted over what comes between, before the tiles change.
  std::vector<PlacedLabel> paint(QPainter& painter, const std::vector<TileRow>& rows,
                                 bool is_changing);

 private:
  struct Piece {  // of a row, in pixels from the origin, drawn from a tile of some scale
    const Tile* tile;
    double ns_per_pixel;
    std::int64_t index;
    std::int64_t from, to;
  };
  struct Span {
    std::int64_t from, to;
  };

  // `scales` of which there are tiles, best first.
  std::vector<Piece> pieces(const TileRow& row, const std::vector<double>& scales,
                            std::vector<Span>* holes);
  std::vector<double> scales_for(double ns_per_pixel) const;
  std::vector<TileKey> missing(const TileRow& row) const;

  TileCache& cache_;
};

// Adds what of the labels is in view.
void place_labels(const std::vector<BoxLabel>& texts, const TileRow& row,
                  std::vector<PlacedLabel>& labels);
// Where they fit, longest boxes first and at most 600.
void paint_box_labels(QPainter& painter, std::vector<PlacedLabel> labels);

}  // namespace foreshard::gui
