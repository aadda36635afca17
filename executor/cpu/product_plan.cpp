#include "executor/cpu/product_plan.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/units.hpp"

namespace foreshard::executor {
namespace {

using Index = std::int64_t;

// The size of equal blocks that n falls into when none may exceed `limit`, a multiple of `step`.
Index block_size(Index n, Index limit, Index step) {
  const Index largest = std::max(limit / step * step, step);
  const Index blocks = std::max<Index>(1, ceil_divide(n, largest));
  return round_up(ceil_divide(n, blocks), step);
}

// Rows of a task, at most `limit`: as many as leave the busiest thread hardly more rows than the best
// choice does, when each takes the next task as soon as it is free. The rows of a task share what
// they read of b.
Index balanced_rows(Index m, Index threads, Index limit, Index step) {
  const auto busiest = [&](Index rows) {
    return std::min(m, ceil_divide(ceil_divide(m, rows), threads) * rows);
  };
  Index fewest = m;
  for (Index rows = step; rows <= limit; rows += step) fewest = std::min(fewest, busiest(rows));
  Index best = step;
  for (Index rows = step; rows <= limit; rows += step) {
    if (busiest(rows) <= fewest + fewest / 16) best = rows;
  }
  return round_up(ceil_divide(m, ceil_divide(m, best)), step);  // as many tasks, of equal size
}

}  // namespace

ProductPlan plan_product(const ProductKernels& kernels, Index m, Index n, Index words,
                         Index threads, Index floats) {
  constexpr Index kShortestStep = 8;  // depths are multiples of it
  constexpr Index kFewestPanels = 4;  // of a block of b, below which packing a costs too much
  const Index row_step = kernels.tile_rows, column_step = kernels.tile_columns;
  ProductPlan plan;
  plan.depth = block_size(words, kernels.depth, std::max(kernels.padding, kShortestStep));
  plan.keeps_sums = !kernels.collects_in_place && words > plan.depth;

  const Index narrowest = std::min(round_up(n, column_step), kFewestPanels * column_step);
  const Index smallest_sums = plan.keeps_sums ? narrowest * narrowest : 0;
  const Index room_for_rows = floats - narrowest * plan.depth - smallest_sums;
  const Index smallest_part = row_step * plan.depth + kPackingSlack;
  plan.threads = std::clamp<Index>(room_for_rows / smallest_part, 1, threads);

  // What a thread's rows may take: larger tasks read b less often.
  Index share = 0;
  if (plan.keeps_sums) {
    share = std::max(floats / 8 / plan.threads, smallest_part);
  } else {
    const Index most_b = std::min(floats / 8 * 5, floats - plan.threads * smallest_part);
    plan.columns = block_size(n, most_b / plan.depth, column_step);
    share = (floats - plan.columns * plan.depth) / plan.threads;
  }
  const Index most_rows = (share - kPackingSlack) / plan.depth / row_step * row_step;
  plan.task_rows =
      balanced_rows(m, plan.threads, std::min(most_rows, round_up(m, row_step)), row_step);
  plan.packed_a = plan.task_rows * plan.depth + kPackingSlack;

  if (plan.keeps_sums) {
    const Index rest = floats - plan.threads * plan.packed_a;
    // The largest x with x * x + x * depth <= rest: as many rows of sums as columns.
    const double half = static_cast<double>(plan.depth) / 2;
    const auto side = static_cast<Index>(std::sqrt(half * half + static_cast<double>(rest)) - half);
    plan.columns = block_size(n, side, column_step);
    // As many rows as there is room for in whole rounds of all threads' tasks.
    const Index room = (rest - plan.columns * plan.depth) / plan.columns;
    const Index round = plan.threads * row_step;
    if (room >= round) {
      plan.task_rows = std::min(plan.task_rows, room / round * row_step);
      plan.rows = room / (plan.threads * plan.task_rows) * (plan.threads * plan.task_rows);
    } else {
      plan.task_rows = row_step;
      plan.rows = std::max(room / row_step * row_step, row_step);
    }
    plan.rows = std::min(plan.rows, round_up(m, row_step));
    plan.sums = plan.rows * plan.columns;
  } else {
    plan.rows = m;
  }
  plan.packed_b = plan.columns * plan.depth;

  // Few rows for many threads: the columns of a block are shared out as well.
  const Index row_tasks = ceil_divide(std::min(m, plan.rows), plan.task_rows);
  const Index panels = plan.columns / column_step;
  const Index column_tasks = std::min(panels, ceil_divide(plan.threads, row_tasks));
  plan.task_columns = ceil_divide(panels, column_tasks) * column_step;
  return plan;
}

PackingPieces cut_packing(const ProductKernels& kernels, Index width, Index words, Index threads) {
  constexpr Index kFewestWords = 32;  // of a piece, below which handing it out costs too much
  PackingPieces pieces;
  pieces.panels = ceil_divide(width, kernels.tile_columns);
  const Index wanted = threads > 1 ? ceil_divide(2 * threads, pieces.panels) : 1;
  pieces.words = round_up(std::max(ceil_divide(words, wanted), kFewestWords), kernels.padding);
  pieces.per_panel = ceil_divide(words, pieces.words);
  return pieces;
}

}  // namespace foreshard::executor
