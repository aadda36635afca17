// How often which durations occur: counts in steps that are equal on a logarithmic scale, as
// durations of one operator differ by powers of ten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace foreshard::gui {

struct Histogram {
  double shortest_ns = 1;
  double longest_ns = 1;
  std::vector<std::int64_t>
      counts;  // the first bin begins at the shortest, the last ends at the longest

  // Where a bin begins, and where along all bins a duration lies: 0 to counts.size().
  double edge_ns(double bin) const;
  double place_of(double ns) const;
};

// Durations of zero count as 1 ns. All equal: one bin.
Histogram histogram(std::span<const std::int64_t> durations_ns, std::size_t bins = 48);

}  // namespace foreshard::gui
