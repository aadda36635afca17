#include "gui/models/timeline/pyramid.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {
namespace {

constexpr std::size_t kItemsPerCell = 32;
constexpr int kCoarsest = 62;

// Shares of more categories than a cell keeps, until it is known which are the largest.
struct OpenCell {
  std::array<double, 8> share{};
  std::array<CategoryId, 8> category{};
  std::size_t used = 0;
  bool has_more = false, is_alone = true;
  std::int32_t longest = Cell::kEmpty;
  std::int64_t longest_ns = -1;

  void add(CategoryId which, double part) {
    for (std::size_t n = 0; n < used; ++n) {
      if (category[n] == which) {
        share[n] += part;
        return;
      }
    }
    if (used == share.size()) {
      has_more = true;
      return;
    }
    category[used] = which;
    share[used++] = part;
  }

  void add_item(std::int32_t item, std::int64_t length) {
    if (longest != Cell::kEmpty && longest != item) is_alone = false;
    if (length > longest_ns) {
      longest = item;
      longest_ns = length;
    }
  }

  Cell close() const {
    Cell cell;
    std::array<std::size_t, 8> order{0, 1, 2, 3, 4, 5, 6, 7};
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(used);
    std::sort(order.begin(), end, [&](std::size_t a, std::size_t b) {
      return share[a] != share[b] ? share[a] > share[b] : category[a] < category[b];
    });
    for (std::size_t n = 0; n < std::min<std::size_t>(used, 3); ++n) {
      cell.category[n] = category[order[n]];
      cell.share[n] = static_cast<std::uint16_t>(
          std::clamp(std::ceil(share[order[n]] * kWholeCell - 1e-6), 1.0, kWholeCell));
    }
    cell.has_more = has_more || used > 3;
    cell.is_alone = is_alone;
    cell.longest = longest;
    return cell;
  }
};

std::vector<Cell> from_items(const Row& row, const Colouring& colouring, int level,
                             std::int64_t first, std::size_t count) {
  std::vector<OpenCell> open(count);
  const double length = std::ldexp(1.0, level);
  const std::int64_t last = first + static_cast<std::int64_t>(count) - 1;
  // An item without length is in the cell of its moment.
  std::size_t item = row.first_ending_after((first << level) - 1);
  for (; item < row.size(); ++item) {
    const traces::Interval span = row.span(item);
    if (cell_of(span.start_ns, level) > last) break;
    const std::int64_t end = std::max(span.end_ns - 1, span.start_ns);
    const std::int64_t from = std::max(cell_of(span.start_ns, level), first);
    const std::int64_t to = std::min(cell_of(end, level), last);
    const CategoryId category = colouring.category(row, item);
    for (std::int64_t n = from; n <= to; ++n) {
      const std::int64_t begin = std::max(span.start_ns, n << level);
      const std::int64_t until = std::min(span.end_ns, (n + 1) << level);
      OpenCell& cell = open[static_cast<std::size_t>(n - first)];
      cell.add(category, static_cast<double>(until - begin) / length);
      cell.add_item(static_cast<std::int32_t>(item), span.end_ns - span.start_ns);
    }
  }
  std::vector<Cell> cells(count);
  std::transform(open.begin(), open.end(), cells.begin(),
                 [](const OpenCell& c) { return c.close(); });
  return cells;
}

Cell joined(const Row& row, const Cell& a, const Cell& b) {
  OpenCell open;
  for (const Cell* part : {&a, &b}) {
    if (part->is_empty()) continue;
    for (std::size_t n = 0; n < part->share.size(); ++n) {
      if (part->share[n] > 0) open.add(part->category[n], part->share[n] / kWholeCell / 2);
    }
    const traces::Interval span = row.span(static_cast<std::size_t>(part->longest));
    open.add_item(part->longest, span.end_ns - span.start_ns);
    if (!part->is_alone) open.is_alone = false;
    if (part->has_more) open.has_more = true;
  }
  return open.close();
}

}  // namespace

Pyramid::Pyramid(const Row& row, const Colouring& colouring) {
  if (row.size() == 0) return;
  const std::int64_t start = row.span(0).start_ns;
  const std::int64_t end = std::max(row.span(row.size() - 1).end_ns, start + 1);
  const double per_cell = static_cast<double>(end - start) / static_cast<double>(row.size()) *
                          static_cast<double>(kItemsPerCell);
  finest_ =
      std::clamp(static_cast<int>(std::ceil(std::log2(std::max(per_cell, 1.0)))), 0, kCoarsest);
  const auto number = [&](int level) {
    return static_cast<std::size_t>(cell_of(end - 1, level) - cell_of(start, level) + 1);
  };
  const std::int64_t first = cell_of(start, finest_);
  levels_.push_back({first, from_items(row, colouring, finest_, first, number(finest_))});
  while (levels_.back().cells.size() > 1) {
    const Level& below = levels_.back();
    Level level{below.first >> 1, {}};
    const std::int64_t last =
        (below.first + static_cast<std::int64_t>(below.cells.size()) - 1) >> 1;
    level.cells.resize(static_cast<std::size_t>(last - level.first + 1));
    const auto child = [&](std::int64_t n) {
      const std::int64_t at = n - below.first;
      return at < 0 || at >= static_cast<std::int64_t>(below.cells.size())
                 ? Cell{}
                 : below.cells[static_cast<std::size_t>(at)];
    };
    for (std::size_t n = 0; n < level.cells.size(); ++n) {
      const std::int64_t left = 2 * (level.first + static_cast<std::int64_t>(n));
      level.cells[n] = joined(row, child(left), child(left + 1));
    }
    levels_.push_back(std::move(level));
  }
}

std::vector<Cell> Pyramid::cells(const Row& row, const Colouring& colouring, int level,
                                 std::int64_t first, std::size_t count) const {
  if (levels_.empty()) return std::vector<Cell>(count);
  if (level < finest_) return from_items(row, colouring, level, first, count);
  std::vector<Cell> cells(count);
  const auto kept = static_cast<std::size_t>(level - finest_);
  if (kept >= levels_.size()) return from_items(row, colouring, level, first, count);
  const Level& from = levels_[kept];
  for (std::size_t n = 0; n < count; ++n) {
    const std::int64_t at = first + static_cast<std::int64_t>(n) - from.first;
    if (at >= 0 && at < static_cast<std::int64_t>(from.cells.size())) {
      cells[n] = from.cells[static_cast<std::size_t>(at)];
    }
  }
  return cells;
}

std::size_t Pyramid::bytes() const {
  std::size_t bytes = 0;
  for (const Level& level : levels_) bytes += level.cells.size() * sizeof(Cell);
  return bytes;
}

}  // namespace foreshard::gui
