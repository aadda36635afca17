// What is drawn of a row in a window: a box for what is wide enough to be seen by itself, a column of
// stacked shares for the rest.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gui/models/timeline/pyramid.hpp"

namespace foreshard::gui {

struct BoxShape {
  traces::Interval span;
  std::size_t item = 0;
  CategoryId category = 0;
};

struct ColumnShape {
  traces::Interval cell;  // without what boxes beside it cover
  struct Part {
    CategoryId category = 0;
    double share = 0;  // of the column's time
  };
  std::array<Part, 3> parts;
};

struct RowShapes {
  std::vector<BoxShape> boxes;
  std::vector<ColumnShape> columns;
};

// An item of at least three pixels is a box, and so is one of at least one that has its cells and the
// two beside them for itself. Cells are at least two pixels wide. Shapes that only touch the window
// are whole, so that windows side by side agree.
RowShapes shapes_of(const Row& row, const Pyramid& pyramid, traces::Interval window,
                    double ns_per_pixel);

}  // namespace foreshard::gui
