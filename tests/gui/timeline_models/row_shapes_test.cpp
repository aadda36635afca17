// What is drawn of a row: every item shows, at every zoom, and a window shows of a moment what any
// other window shows of it.
#include "gui/models/timeline/row_shapes.hpp"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "gui/models/timeline/lane_set.hpp"
#include "tests/gui/timeline_models/random_events.hpp"

namespace foreshard::gui {
namespace {

using traces::Interval;

class RowShapesTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  LaneSet lanes_{tests::random_events(1, 300, GetParam())};

  RowShapes shapes(std::size_t row, Interval window, double scale) const {
    return lanes_.shapes(row, ColourBy::phase, window, scale);
  }
  // The row, or as much of it as 4,000 pixels show.
  Interval everything(const Row& row, double scale) const {
    const std::int64_t start = row.span(0).start_ns;
    const auto shown = static_cast<std::int64_t>(4000 * scale);
    return {start, std::min(row.span(row.size() - 1).end_ns + 1, start + shown)};
  }
};

constexpr double kScales[] = {0.3, 1.0, 7.5, 40.0, 333.0, 2500.0, 1e5, 1e7};

TEST_P(RowShapesTest, EveryItemTintsItsPixel) {
  for (std::size_t n = 0; n < lanes_.rows().size(); ++n) {
    const Row& row = lanes_.rows()[n];
    for (const double scale : kScales) {
      const Interval window = everything(row, scale);
      const RowShapes found = shapes(n, window, scale);
      std::set<std::size_t> boxes;
      for (const BoxShape& box : found.boxes) boxes.insert(box.item);
      EXPECT_EQ(boxes.size(), found.boxes.size()) << "a box twice";
      for (std::size_t item = 0; item < row.size(); ++item) {
        const Interval span = row.span(item);
        if (span.start_ns >= window.end_ns) break;
        const auto length = static_cast<double>(span.end_ns - span.start_ns);
        if (boxes.contains(item)) {
          EXPECT_GE(length, scale);
          continue;
        }
        EXPECT_LT(length, 3 * scale) << "wide enough to be a box";
        // What has no length stands beside a box that touches it, within a cell.
        const auto reach = static_cast<std::int64_t>(length == 0 ? 4 * scale : 0);
        const bool is_seen =
            std::any_of(found.columns.begin(), found.columns.end(), [&](const ColumnShape& column) {
              return column.cell.start_ns - reach <= span.start_ns &&
                     span.start_ns < column.cell.end_ns + reach && column.parts[0].share > 0;
            });
        EXPECT_TRUE(is_seen) << row.title << ", item " << item << " at " << span.start_ns << " ns, "
                             << scale << " ns a pixel";
      }
    }
  }
}

TEST_P(RowShapesTest, ColumnsAreAsHighAsTheShareOfTheirTimeThatIsBusy) {
  for (std::size_t n = 0; n < lanes_.rows().size(); ++n) {
    const Row& row = lanes_.rows()[n];
    for (const double scale : kScales) {
      const Interval window = everything(row, scale);
      const RowShapes found = shapes(n, window, scale);
      std::set<std::size_t> boxes;
      for (const BoxShape& box : found.boxes) boxes.insert(box.item);
      for (const ColumnShape& column : found.columns) {
        double height = 0, busy = 0;
        auto length = static_cast<double>(column.cell.end_ns - column.cell.start_ns);
        const auto reach = static_cast<std::int64_t>(4 * scale);
        std::set<CategoryId> categories;
        for (const ColumnShape::Part& part : column.parts) height += part.share;
        for (std::size_t item = 0; item < row.size(); ++item) {
          const Interval span = row.span(item);
          if (span.end_ns < column.cell.start_ns - reach) continue;
          if (span.start_ns > column.cell.end_ns + reach) break;
          categories.insert(lanes_.colouring(ColourBy::phase).category(row, item));
          const auto within = static_cast<double>(
              std::max<std::int64_t>(0, std::min(span.end_ns, column.cell.end_ns) -
                                            std::max(span.start_ns, column.cell.start_ns)));
          (boxes.contains(item) ? length : busy) += boxes.contains(item) ? -within : within;
        }
        // Shares are rounded up at every level, and what boxes cover is taken off rounded shares.
        if (length < 1) continue;
        const double slack = 40 / kWholeCell * (1 + 4 * scale / length);
        EXPECT_LE(height, busy / length + slack) << row.title << ", " << scale;
        if (categories.size() <= 3) {
          EXPECT_GE(height, std::min(busy / length, 1.0) - slack) << row.title << ", " << scale;
        }
      }
    }
  }
}

TEST_P(RowShapesTest, AWindowShowsWhatAnyOtherShowsOfTheSameTime) {
  for (std::size_t n = 0; n < lanes_.rows().size(); ++n) {
    const Row& row = lanes_.rows()[n];
    for (const double scale : {7.5, 40.0, 333.0}) {
      const Interval all = everything(row, scale);
      const RowShapes whole = shapes(n, all, scale);
      std::map<std::int64_t, ColumnShape> columns;
      for (const ColumnShape& column : whole.columns) columns[column.cell.start_ns] = column;
      std::set<std::size_t> boxes;
      for (const BoxShape& box : whole.boxes) boxes.insert(box.item);
      const auto width = static_cast<std::int64_t>(97 * scale);
      for (std::int64_t start = all.start_ns; start < all.end_ns; start += width) {
        const Interval window{start, std::min(start + width, all.end_ns)};
        const RowShapes part = shapes(n, window, scale);
        for (const ColumnShape& column : part.columns) {
          const auto same = columns.find(column.cell.start_ns);
          ASSERT_NE(same, columns.end()) << row.title << " at " << column.cell.start_ns;
          EXPECT_EQ(same->second.cell, column.cell);
          for (std::size_t k = 0; k < column.parts.size(); ++k) {
            EXPECT_EQ(same->second.parts[k].category, column.parts[k].category);
            EXPECT_EQ(same->second.parts[k].share, column.parts[k].share);
          }
        }
        std::set<std::size_t> seen;
        for (const BoxShape& box : part.boxes) {
          EXPECT_TRUE(boxes.contains(box.item)) << row.title << ", item " << box.item;
          seen.insert(box.item);
        }
        for (const BoxShape& box : whole.boxes) {
          if (box.span.start_ns < window.end_ns && box.span.end_ns > window.start_ns) {
            EXPECT_TRUE(seen.contains(box.item)) << row.title << ", item " << box.item;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowShapesTest, testing::Range(1u, 5u));

}  // namespace
}  // namespace foreshard::gui
