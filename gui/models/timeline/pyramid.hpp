// The level of detail of a row: what it shows of cells of 2^k nanoseconds, for every k.
//
// Cells are at absolute multiples of their length, so that what one shows does not depend on where the
// window starts and panning cannot flicker. A cell has up to three categories with the share of its
// time that they are busy, rounded up: no event is so short that it vanishes. The finest level that is
// kept has about 16 items a cell, so that all levels together take two bytes an item, and a third is its
// category; finer cells are made from the items when they are looked at.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gui/models/timeline/colouring.hpp"
#include "gui/models/timeline/row.hpp"

namespace foreshard::gui {

struct Cell {
  static constexpr std::int32_t kEmpty = -1;

  std::array<std::uint16_t, 3> share{};  // of the cell's time, in 65535ths, largest first
  std::array<CategoryId, 3> category{};
  bool has_more = false;          // categories than these
  bool is_alone = true;           // no more than one item
  std::int32_t longest = kEmpty;  // item

  bool is_empty() const { return longest == kEmpty; }
  bool operator==(const Cell&) const = default;
};

constexpr double kWholeCell = 65535;

class Pyramid {
 public:
  static constexpr int kCoarsest = 60;  // the highest level

  Pyramid() = default;
  Pyramid(const Row& row, const Colouring& colouring);

  // Cells number `first` to `first + count` of 2^level ns; cell n begins at n * 2^level.
  std::vector<Cell> cells(const Row& row, int level, std::int64_t first, std::size_t count) const;
  // One of them; of a level that is kept, from finest_level() on.
  const Cell& cell(int level, std::int64_t number) const;
  CategoryId category(std::size_t item) const { return categories_[item]; }
  int finest_level() const { return finest_; }
  std::size_t bytes() const;

 private:
  struct Level {
    std::int64_t first = 0;
    std::vector<Cell> cells;
  };

  std::vector<Cell> from_items(const Row& row, int level, std::int64_t first,
                               std::size_t count) const;

  int finest_ = 0;
  std::vector<CategoryId> categories_;  // of each item
  std::vector<Level> levels_;           // from the finest to the coarsest; none without items
};

// The cell that starts at or before `ns`.
constexpr std::int64_t cell_of(std::int64_t ns, int level) {
  return ns >> level;
}
// [n 2^level, (n + 1) 2^level).
constexpr traces::Interval time_of_cell(std::int64_t cell, int level) {
  return {cell << level, (cell + 1) << level};
}
// Of cells that are at least two pixels wide.
int column_level(double ns_per_pixel);

}  // namespace foreshard::gui
