#include "gui/models/timeline/row_shapes.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {
namespace {

constexpr double kBoxPixels = 3, kLoneBoxPixels = 1, kCellPixels = 2;

bool is_lone(const std::vector<Cell>& cells, std::size_t at) {
  const std::int32_t item = cells[at].longest;
  for (std::size_t n = at - 1; n <= at + 1; ++n) {
    if (!cells[n].is_empty() && (!cells[n].is_alone || cells[n].longest != item)) return false;
  }
  return true;
}

double length_of(const traces::Interval& span) {
  return static_cast<double>(span.end_ns - span.start_ns);
}

// What is left of a cell beside the boxes that reach into it.
void add_column(const Row& row, const Cell& cell, traces::Interval time,
                const std::vector<BoxShape>& boxes, std::size_t first_box,
                std::vector<ColumnShape>& columns) {
  const double whole = length_of(time);
  std::array<double, 3> share;
  for (std::size_t n = 0; n < 3; ++n) share[n] = cell.share[n] / kWholeCell * whole;
  traces::Interval rest = time;
  double covered = 0;
  for (std::size_t n = first_box; n < boxes.size() && boxes[n].span.start_ns < time.end_ns; ++n) {
    const traces::Interval& box = boxes[n].span;
    const std::int64_t from = std::max(box.start_ns, time.start_ns);
    const std::int64_t to = std::min(box.end_ns, time.end_ns);
    if (to <= from) continue;
    const double part = static_cast<double>(to - from);
    covered += part;
    for (std::size_t k = 0; k < 3; ++k) {
      if (cell.share[k] > 0 && cell.category[k] == boxes[n].category) share[k] -= part;
    }
    if (from == time.start_ns) rest.start_ns = std::max(rest.start_ns, to);
    if (to == time.end_ns) rest.end_ns = std::min(rest.end_ns, from);
  }
  if (rest.end_ns <= rest.start_ns || covered >= whole) return;
  ColumnShape column{rest, {}};
  const double least = whole / kWholeCell * 2;  // of rounding up
  bool has_any = covered == 0;
  for (std::size_t n = 0; n < 3; ++n) {
    if (cell.share[n] == 0 || (covered > 0 && share[n] <= least)) continue;
    column.parts[n] = {cell.category[n],
                       std::min(std::max(share[n], least) / (whole - covered), 1.0)};
    has_any = true;
  }
  static_cast<void>(row);
  if (has_any) columns.push_back(column);
}

}  // namespace

RowShapes shapes_of(const Row& row, const Colouring& colouring, const Pyramid& pyramid,
                    traces::Interval window, double ns_per_pixel) {
  RowShapes shapes;
  if (row.size() == 0) return shapes;
  const int level = std::max(0, static_cast<int>(std::ceil(std::log2(kCellPixels * ns_per_pixel))));
  // One cell more at either end, to see what stands beside the outermost.
  const std::int64_t first = cell_of(window.start_ns, level) - 1;
  const std::int64_t last = cell_of(std::max(window.end_ns - 1, window.start_ns), level) + 1;
  const auto count = static_cast<std::size_t>(last - first + 1);
  const std::vector<Cell> cells = pyramid.cells(row, colouring, level, first, count);

  const auto add_box = [&](std::int32_t item) {
    const auto number = static_cast<std::size_t>(item);
    shapes.boxes.push_back({row.span(number), number, colouring.category(row, number)});
  };
  // An item of three pixels fills at least two cells of a quarter of the length alone, where it is the
  // longest.
  const int fine = std::max(level - 2, 0);
  const std::int64_t fine_first = first << (level - fine);
  const auto per_cell = static_cast<std::size_t>(1) << (level - fine);
  const std::vector<Cell> small =
      fine == level ? cells : pyramid.cells(row, colouring, fine, fine_first, count * per_cell);
  std::int32_t latest = Cell::kEmpty;
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t k = n * per_cell; k < (n + 1) * per_cell; ++k) {
      const std::int32_t item = small[k].longest;
      if (item == Cell::kEmpty || item <= latest) continue;
      const double pixels = length_of(row.span(static_cast<std::size_t>(item))) / ns_per_pixel;
      const bool is_lone_box = pixels >= kLoneBoxPixels && n > 0 && n + 1 < count &&
                               cells[n].longest == item && is_lone(cells, n);
      if (pixels >= kBoxPixels || is_lone_box) {
        add_box(item);
        latest = item;
      }
    }
  }
  std::size_t first_box = 0;
  for (std::size_t n = 1; n + 1 < count; ++n) {
    if (cells[n].is_empty()) continue;
    const std::int64_t start = (first + static_cast<std::int64_t>(n)) << level;
    const traces::Interval time{start, start + (std::int64_t{1} << level)};
    while (first_box < shapes.boxes.size() &&
           shapes.boxes[first_box].span.end_ns <= time.start_ns) {
      ++first_box;
    }
    add_column(row, cells[n], time, shapes.boxes, first_box, shapes.columns);
  }
  return shapes;
}

}  // namespace foreshard::gui
