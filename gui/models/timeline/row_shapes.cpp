#include "gui/models/timeline/row_shapes.hpp"

#include <algorithm>
#include <optional>

namespace foreshard::gui {
namespace {

constexpr double kBoxPixels = 3, kLoneBoxPixels = 1;
// Cells beyond either end of the window that are looked at: what stands in the one beside it reaches
// over two more, and has to be alone in one more still.
constexpr std::size_t kMargin = 4;

double length_of(const traces::Interval& span) {
  return static_cast<double>(span.end_ns - span.start_ns);
}

class ShapeFinder {
 public:
  ShapeFinder(const Row& row, const Pyramid& pyramid, traces::Interval window, double ns_per_pixel)
      : row_(row),
        pyramid_(pyramid),
        box_ns_(kBoxPixels * ns_per_pixel),
        lone_box_ns_(kLoneBoxPixels * ns_per_pixel),
        level_(column_level(ns_per_pixel)),
        first_(cell_of(window.start_ns, level_) - static_cast<std::int64_t>(kMargin)) {
    const std::int64_t last = cell_of(std::max(window.end_ns - 1, window.start_ns), level_);
    cells_ =
        pyramid.cells(row, level_, first_, static_cast<std::size_t>(last - first_ + 1) + kMargin);
  }

  RowShapes find() {
    for (std::size_t n = 0; n < cells_.size(); ++n) {
      const std::int64_t number = first_ + static_cast<std::int64_t>(n);
      add_boxes(cells_[n], level_, number);
      if (cells_[n].is_alone && is_lone_box(cells_[n].longest)) add_box(cells_[n].longest);
    }
    std::size_t box = 0;
    for (std::size_t n = kMargin; n + kMargin < cells_.size(); ++n) {
      if (cells_[n].is_empty()) continue;
      const traces::Interval time = time_of_cell(first_ + static_cast<std::int64_t>(n), level_);
      while (box < shapes_.boxes.size() && shapes_.boxes[box].span.end_ns <= time.start_ns) ++box;
      add_column(cells_[n], time, box);
    }
    return std::move(shapes_);
  }

 private:
  traces::Interval span(std::int32_t item) const {
    return row_.span(static_cast<std::size_t>(item));
  }

  void add_box(std::int32_t item) {
    if (item <= latest_) return;
    latest_ = item;
    const auto number = static_cast<std::size_t>(item);
    shapes_.boxes.push_back({row_.span(number), number, pyramid_.category(number)});
  }

  // All items in the cell that are wide enough: in its halves, as far as they are kept, and then one by
  // one around the longest.
  void add_boxes(const Cell& cell, int level, std::int64_t number) {
    if (cell.is_empty() || length_of(span(cell.longest)) < box_ns_) return;
    if (cell.is_alone) return add_box(cell.longest);
    if (level > pyramid_.finest_level()) {
      for (const std::int64_t half : {2 * number, 2 * number + 1}) {
        add_boxes(pyramid_.cell(level - 1, half), level - 1, half);
      }
      return;
    }
    const traces::Interval time = time_of_cell(number, level);
    std::int32_t item = cell.longest;
    while (item > 0 && span(item - 1).end_ns > time.start_ns) --item;
    for (; item < static_cast<std::int32_t>(row_.size()); ++item) {
      const traces::Interval its = span(item);
      if (its.start_ns >= time.end_ns) break;
      if (length_of(its) >= box_ns_) add_box(item);
    }
  }

  // Whether it has the cells that it touches and those beside them for itself.
  bool is_lone_box(std::int32_t item) const {
    if (item <= latest_) return false;
    const traces::Interval its = span(item);
    if (length_of(its) < lone_box_ns_) return false;
    const std::int64_t from = cell_of(its.start_ns, level_) - 1 - first_;
    const std::int64_t to = cell_of(its.end_ns - 1, level_) + 1 - first_;
    if (from < 0 || to >= static_cast<std::int64_t>(cells_.size())) return false;
    return std::all_of(cells_.begin() + from, cells_.begin() + to + 1, [&](const Cell& cell) {
      return cell.is_empty() || (cell.is_alone && cell.longest == item);
    });
  }

  // An item that is no box and stands in that time before or after the n-th box.
  std::optional<std::size_t> item_beside(std::size_t box, const traces::Interval& time) const {
    const auto& boxes = shapes_.boxes;
    const std::size_t item = boxes[box].item;
    const bool follows_box = box > 0 && boxes[box - 1].item + 1 == item;
    if (item > 0 && !follows_box) {
      const traces::Interval before = row_.span(item - 1);
      if (before.end_ns > time.start_ns || before.start_ns >= time.start_ns) return item - 1;
    }
    const bool precedes_box = box + 1 < boxes.size() && boxes[box + 1].item == item + 1;
    const bool is_last = item + 1 == row_.size();
    if (!is_last && !precedes_box && row_.span(item + 1).start_ns < time.end_ns) return item + 1;
    return std::nullopt;
  }

  // What is left of a cell beside the boxes that reach into it, the first of which may be `box`.
  void add_column(const Cell& cell, traces::Interval time, std::size_t box) {
    const double whole = length_of(time);
    std::array<double, 3> busy{};
    for (std::size_t k = 0; k < busy.size(); ++k) busy[k] = cell.share[k] / kWholeCell * whole;
    traces::Interval rest = time;
    double covered = 0;
    std::optional<std::size_t> other;
    for (; box < shapes_.boxes.size() && shapes_.boxes[box].span.start_ns < time.end_ns; ++box) {
      const BoxShape& shape = shapes_.boxes[box];
      const std::int64_t from = std::max(shape.span.start_ns, time.start_ns);
      const std::int64_t to = std::min(shape.span.end_ns, time.end_ns);
      const auto part = static_cast<double>(to - from);
      if (!other) other = item_beside(box, time);
      covered += part;
      for (std::size_t k = 0; k < busy.size(); ++k) {
        if (cell.share[k] > 0 && cell.category[k] == shape.category) busy[k] -= part;
      }
      if (from == time.start_ns) rest.start_ns = to;
      if (to == time.end_ns) rest.end_ns = from;
    }
    if (covered > 0 && !other) return;
    // An item without length may stand between two boxes that meet.
    if (rest.end_ns <= rest.start_ns) {
      const std::int64_t moment = row_.span(*other).start_ns;
      rest = {moment, moment + 1};
    }
    const double least = whole / kWholeCell;  // a share's unit; it is rounded up
    ColumnShape column{rest, {}};
    std::size_t used = 0;
    for (std::size_t k = 0; k < busy.size(); ++k) {
      if (cell.share[k] == 0 || (covered > 0 && busy[k] < least)) continue;
      column.parts[used++] = {cell.category[k], std::min(busy[k] / (whole - covered), 1.0)};
    }
    // So little is left of it that it is within the rounding of what the boxes cover.
    if (used == 0) column.parts[0] = {cell.category[0], least / whole};
    shapes_.columns.push_back(column);
  }

  const Row& row_;
  const Pyramid& pyramid_;
  double box_ns_, lone_box_ns_;
  int level_;
  std::int64_t first_;
  std::vector<Cell> cells_;
  std::int32_t latest_ = Cell::kEmpty;  // that is a box
  RowShapes shapes_;
};

}  // namespace

RowShapes shapes_of(const Row& row, const Pyramid& pyramid, traces::Interval window,
                    double ns_per_pixel) {
  return row.size() == 0 ? RowShapes{} : ShapeFinder(row, pyramid, window, ns_per_pixel).find();
}

}  // namespace foreshard::gui
