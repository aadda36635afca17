// Which part of a parameter, seen as a matrix, one rank's shard is. Everything that moves weights
// between shards and files (loading, checkpoints, exports) is the copying of such regions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "executor/device/worker_pool.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

struct Region {
  std::int64_t first_row = 0, rows = 0;
  std::int64_t first_column = 0, columns = 0;

  std::int64_t elements() const { return rows * columns; }
  bool operator==(const Region&) const = default;
};

inline Region region_of(const ParameterShard& shard) {
  if (shard.local == 0) return {};
  if (shard.shard_dim == 1) return {0, shard.rows, shard.first, shard.local / shard.rows};
  return {shard.first, shard.local / shard.columns, 0, shard.columns};
}

// What two regions of one parameter have in common; without elements where that is nothing.
inline Region intersection(const Region& a, const Region& b) {
  const auto row = std::max(a.first_row, b.first_row);
  const auto column = std::max(a.first_column, b.first_column);
  const auto rows = std::min(a.first_row + a.rows, b.first_row + b.rows) - row;
  const auto columns = std::min(a.first_column + a.columns, b.first_column + b.columns) - column;
  if (rows <= 0 || columns <= 0) return {};
  return {row, rows, column, columns};
}

// Shared by workers, copy(from, to, count) for every run of elements that `part` occupies without a
// gap in two dense row-major regions; from and to are positions in the two. Long runs are cut, and each
// piece is progress of the rank: drawing or reading a large parameter can take minutes. A worker takes
// short runs together.
constexpr std::int64_t kLongestRun = std::int64_t{1} << 18;
template <typename Copy>
void share_runs(WorkerPool& workers, const Region& part, const Region& source, const Region& target,
                const Copy& copy) {
  if (part.elements() == 0) return;
  const bool whole_rows = part.columns == source.columns && part.columns == target.columns;
  const std::int64_t count = whole_rows ? part.elements() : part.columns;
  const std::int64_t runs = whole_rows ? 1 : part.rows;
  const std::int64_t pieces = (count + kLongestRun - 1) / kLongestRun;
  const std::int64_t together = std::max<std::int64_t>(kLongestRun / count, 1);
  workers.run_ranges(runs * pieces, together, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = part.first_row + i / pieces, at = i % pieces * kLongestRun;
      const auto position = [&](const Region& in) {
        return (row - in.first_row) * in.columns + part.first_column - in.first_column + at;
      };
      copy(position(source), position(target), std::min(kLongestRun, count - at));
    }
  });
}

// The same by the calling thread.
template <typename Copy>
void for_each_run(const Region& part, const Region& source, const Region& target,
                  const Copy& copy) {
  WorkerPool alone;
  share_runs(alone, part, source, target, copy);
}

}  // namespace foreshard::executor
