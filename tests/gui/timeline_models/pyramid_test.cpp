// Cells beside what a walk over all items finds: the share of each category, the longest item.
#include "gui/models/timeline/pyramid.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "gui/models/timeline/lane_set.hpp"
#include "tests/gui/timeline_models/random_events.hpp"

namespace foreshard::gui {
namespace {

struct NaiveCell {
  std::map<CategoryId, std::int64_t> busy_ns;
  std::size_t items = 0;
  std::int64_t longest_ns = -1;
};

NaiveCell naive_cell(const Row& row, const Colouring& colouring, int level, std::int64_t number) {
  NaiveCell cell;
  const std::int64_t begin = number << level, end = (number + 1) << level;
  for (std::size_t item = 0; item < row.size(); ++item) {
    const traces::Interval span = row.span(item);
    const bool is_in = span.start_ns == span.end_ns ? span.start_ns >= begin && span.start_ns < end
                                                    : span.start_ns < end && span.end_ns > begin;
    if (!is_in) continue;
    cell.busy_ns[colouring.category(row, item)] +=
        std::min(span.end_ns, end) - std::max(span.start_ns, begin);
    ++cell.items;
    cell.longest_ns = std::max(cell.longest_ns, span.end_ns - span.start_ns);
  }
  return cell;
}

void expect_equal(const Cell& cell, const NaiveCell& naive, const Row& row, int level) {
  ASSERT_EQ(cell.is_empty(), naive.items == 0);
  if (cell.is_empty()) return;
  const traces::Interval longest = row.span(static_cast<std::size_t>(cell.longest));
  EXPECT_EQ(longest.end_ns - longest.start_ns, naive.longest_ns);
  EXPECT_EQ(cell.is_alone, naive.items == 1);
  // A category that a finer cell left out may be missing here, and then "more" tells it.
  std::size_t kept = 0;
  for (std::size_t n = 0; n < cell.share.size(); ++n) {
    if (cell.share[n] == 0) continue;
    ++kept;
    const auto found = naive.busy_ns.find(cell.category[n]);
    ASSERT_NE(found, naive.busy_ns.end());
    const double share = static_cast<double>(found->second) / std::ldexp(1.0, level);
    // Every level rounds up by at most one.
    EXPECT_LE(cell.share[n] / kWholeCell, share + (level + 1) / kWholeCell);
    if (!cell.has_more) {
      EXPECT_GE(cell.share[n] / kWholeCell, share - 1e-9);
    }
  }
  EXPECT_GE(kept, 1u);
  if (!cell.has_more) {
    EXPECT_EQ(kept, naive.busy_ns.size());
  }
}

TEST(Colouring, AWholeStepIsOfNoPhase) {
  traces::Trace trace;
  trace.lanes = {{0, false, trace.strings.intern("host")}};
  for (const char* name : {"step", "embedding"}) {
    traces::Event event;
    event.kind = traces::EventKind::range;
    event.end_ns = 10;
    event.name = trace.strings.intern(name);
    event.phase = trace.strings.intern("forward");
    trace.events.push_back(event);
  }
  const LaneSet lanes(std::make_shared<traces::Trace>(std::move(trace)));
  const Colouring& colouring = lanes.colouring(ColourBy::phase);
  std::vector<Role> roles;
  for (const Row& row : lanes.rows()) {
    for (std::size_t item = 0; item < row.size(); ++item) {
      if (row.event(item) == traces::kNone || row.kind == RowKind::phase) continue;
      roles.push_back(colouring.fill(colouring.category(row, item)).colour.role);
    }
  }
  EXPECT_TRUE(std::ranges::count(roles, Role::host) == 1 &&
              std::ranges::count(roles, Role::forward) == 1);
}

class PyramidTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PyramidTest, CellsOfEveryLevelAreThoseOfAWalkOverTheItems) {
  const LaneSet lanes(tests::random_events(1, 700, GetParam()));
  const Colouring& colouring = lanes.colouring(ColourBy::phase);
  for (const Row& row : lanes.rows()) {
    const Pyramid pyramid(row, colouring);
    const std::int64_t start = row.span(0).start_ns, end = row.span(row.size() - 1).end_ns;
    for (int level = 0; level <= 40; level += level < 6 ? 3 : 1) {
      // Of the finest levels a part, as there are many cells.
      const std::int64_t first = std::max(cell_of(start, level) - 2, cell_of(end, level) - 300);
      const auto count = static_cast<std::size_t>(cell_of(end, level) + 3 - first);
      const std::vector<Cell> cells = pyramid.cells(row, level, first, count);
      for (std::size_t n = 0; n < count; ++n) {
        const std::int64_t number = first + static_cast<std::int64_t>(n);
        SCOPED_TRACE(testing::Message() << row.title << ", level " << level << ", cell " << number);
        expect_equal(cells[n], naive_cell(row, colouring, level, number), row, level);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(PyramidTest, CellsDoNotDependOnWhereTheWindowStarts) {
  const LaneSet lanes(tests::random_events(1, 500, GetParam()));
  const Colouring& colouring = lanes.colouring(ColourBy::unit);
  for (const Row& row : lanes.rows()) {
    const Pyramid pyramid(row, colouring);
    for (const int level : {2, 7, pyramid.finest_level(), pyramid.finest_level() + 2}) {
      const std::int64_t first = cell_of(row.span(row.size() / 3).start_ns, level);
      const std::vector<Cell> whole = pyramid.cells(row, level, first, 64);
      for (std::size_t shift = 1; shift < 64; shift += 7) {
        const auto from = first + static_cast<std::int64_t>(shift);
        const std::vector<Cell> part = pyramid.cells(row, level, from, 64 - shift);
        EXPECT_TRUE(std::equal(part.begin(), part.end(),
                               whole.begin() + static_cast<std::ptrdiff_t>(shift)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PyramidTest, testing::Range(1u, 7u));

TEST(Pyramid, TakesAtMostFourBytesAnItem) {
  const LaneSet lanes(tests::random_events(1, 20'000, 3));
  for (const Row& row : lanes.rows()) {
    if (row.size() < 5000) continue;
    const Pyramid pyramid(row, lanes.colouring(ColourBy::phase));
    EXPECT_LT(pyramid.bytes(), 4 * row.size());
  }
}

TEST(Pyramid, TimesBeforeZeroAndOfManyYearsAreKept) {
  auto trace = std::make_shared<traces::Trace>();
  trace->lanes = {{0, true, trace->strings.intern("compute")}};
  traces::Event event;
  event.kind = traces::EventKind::compute;
  event.name = trace->strings.intern("matmul");
  for (const std::int64_t start :
       {std::int64_t{-1'000'000'000}, std::int64_t{5}, std::int64_t{1'000'000'000'000'000'000}}) {
    event.start_ns = start;
    event.end_ns = start + 1000;
    trace->events.push_back(event);
  }
  const LaneSet lanes(trace);
  ASSERT_EQ(lanes.rows().size(), 1u);
  const Pyramid pyramid(lanes.rows()[0], lanes.colouring(ColourBy::phase));
  const int level = Pyramid::kCoarsest;
  const std::vector<Cell> cells = pyramid.cells(lanes.rows()[0], level, -1, 2);
  EXPECT_EQ(cells[0].longest, 0);
  EXPECT_FALSE(cells[1].is_empty());
  EXPECT_GT(cells[1].share[0], 0);
}

}  // namespace
}  // namespace foreshard::gui
