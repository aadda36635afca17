#include "gui/models/timeline/pyramid.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {
namespace {

constexpr std::size_t kItemsPerCell = 16;

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

Pyramid::Pyramid(const Row& row, const Colouring& colouring) : categories_(row.size()) {
  if (row.size() == 0) return;
  for (std::size_t item = 0; item < row.size(); ++item) {
    categories_[item] = colouring.category(row, item);
  }
  const std::int64_t start = row.span(0).start_ns;
  const std::int64_t end = std::max(row.span(row.size() - 1).end_ns, start + 1);
  const double per_cell = static_cast<double>(end - start) / static_cast<double>(row.size()) *
                          static_cast<double>(kItemsPerCell);
  finest_ =
      std::clamp(static_cast<int>(std::ceil(std::log2(std::max(per_cell, 1.0)))), 0, kCoarsest);
  const std::int64_t first = cell_of(start, finest_);
  const auto count = static_cast<std::size_t>(cell_of(end - 1, finest_) - first + 1);
  levels_.push_back({first, from_items(row, finest_, first, count)});
  for (int level = finest_ + 1; level <= kCoarsest; ++level) {
    const Level& below = levels_.back();
    const auto last = below.first + static_cast<std::int64_t>(below.cells.size()) - 1;
    Level above{below.first >> 1, {}};
    above.cells.resize(static_cast<std::size_t>((last >> 1) - above.first + 1));
    for (std::size_t n = 0; n < above.cells.size(); ++n) {
      const std::int64_t left = 2 * (above.first + static_cast<std::int64_t>(n));
      above.cells[n] = joined(row, cell(level - 1, left), cell(level - 1, left + 1));
    }
    levels_.push_back(std::move(above));
  }
}

const Cell& Pyramid::cell(int level, std::int64_t number) const {
  static const Cell kEmptyCell;
  if (levels_.empty()) return kEmptyCell;
  const Level& kept = levels_[static_cast<std::size_t>(level - finest_)];
  const std::int64_t at = number - kept.first;
  const bool is_kept = at >= 0 && at < static_cast<std::int64_t>(kept.cells.size());
  return is_kept ? kept.cells[static_cast<std::size_t>(at)] : kEmptyCell;
}

std::vector<Cell> Pyramid::cells(const Row& row, int level, std::int64_t first,
                                 std::size_t count) const {
  if (level < finest_) return from_items(row, level, first, count);
  std::vector<Cell> cells(count);
  for (std::size_t n = 0; n < count; ++n) {
    cells[n] = cell(level, first + static_cast<std::int64_t>(n));
  }
  return cells;
}

// Items of a row do not overlap, so that one walk sees them all; an item without length is in the cell
// of its moment.
std::vector<Cell> Pyramid::from_items(const Row& row, int level, std::int64_t first,
                                      std::size_t count) const {
  std::vector<Cell> cells(count);
  const double length = std::ldexp(1.0, level);
  std::size_t item = row.first_ending_after((first << level) - 1);
  for (std::size_t n = 0; n < count && item < row.size(); ++n) {
    const std::int64_t begin = (first + static_cast<std::int64_t>(n)) << level;
    const std::int64_t end = begin + (std::int64_t{1} << level);
    if (row.span(item).start_ns >= end) continue;
    OpenCell open;
    for (; item < row.size(); ++item) {
      const traces::Interval span = row.span(item);
      if (span.start_ns >= end) break;
      if (span.start_ns >= begin || span.end_ns > begin) {
        const std::int64_t within = std::min(span.end_ns, end) - std::max(span.start_ns, begin);
        open.add(category(item), static_cast<double>(within) / length);
        open.add_item(static_cast<std::int32_t>(item), span.end_ns - span.start_ns);
      }
      if (span.end_ns > end) break;
    }
    cells[n] = open.close();
  }
  return cells;
}

std::size_t Pyramid::bytes() const {
  std::size_t bytes = categories_.capacity() * sizeof(CategoryId);
  for (const Level& level : levels_) bytes += level.cells.size() * sizeof(Cell);
  return bytes;
}

int column_level(double ns_per_pixel) {
  constexpr double kPixels = 2;
  return std::clamp(static_cast<int>(std::ceil(std::log2(kPixels * ns_per_pixel))), 0,
                    Pyramid::kCoarsest);
}

}  // namespace foreshard::gui
