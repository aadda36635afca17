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
  const Index row_step = kernels.tile_rows, column_step = kernels.tile_columns;
  ProductPlan plan;
  plan.depth = block_size(words, kernels.depth, std::max(kernels.padding, kShortestStep));
  plan.keeps_sums = !kernels.collects_in_place && words > plan.depth;

  const Index most_columns = floats / plan.depth;
  // Larger tasks read b less often.
  const Index most_rows = (kPackedRowFloats - kPackingSlack) / plan.depth / row_step * row_step;
  if (plan.keeps_sums) {
    // Of few threads a square, which packs a and b least often; of many, enough rows for each.
    constexpr Index kSums = 160 << 10, kSumsOfThread = 16 << 10;
    const Index most_sums = std::max(kSums, threads * kSumsOfThread);
    const auto side = static_cast<Index>(std::sqrt(static_cast<double>(most_sums)));
    const Index fewest_rows = std::min(round_up(m, row_step), std::max(side, threads * row_step));
    plan.columns = block_size(n, std::min(most_columns, most_sums / fewest_rows), column_step);
    // Turns of equal rows, in each of which all threads have tasks of equal rows.
    const Index room = most_sums / plan.columns;
    const Index share = ceil_divide(ceil_divide(m, ceil_divide(m, room)), threads);
    const Index tasks = ceil_divide(share, most_rows);
    const Index most = std::max(room / (threads * tasks) / row_step, Index{1}) * row_step;
    plan.task_rows = std::min(round_up(ceil_divide(share, tasks), row_step), most);
    plan.rows = std::min(threads * tasks, room / plan.task_rows) * plan.task_rows;
  } else {
    plan.columns = block_size(n, most_columns, column_step);
    plan.task_rows =
        balanced_rows(m, threads, std::min(most_rows, round_up(m, row_step)), row_step);
    plan.rows = m;
  }

  // Few rows for many threads: the columns of a block are shared out as well.
  const Index row_tasks = ceil_divide(std::min(m, plan.rows), plan.task_rows);
  const Index panels = plan.columns / column_step;
  const Index column_tasks = std::min(panels, ceil_divide(threads, row_tasks));
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
