// Unions of time intervals: what is busy when several streams overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace foreshard::traces {

struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool operator==(const Interval&) const = default;
};

// Disjoint, ordered intervals that cover the same moments; ones that touch become one. O(n log n),
// O(n) where they are ordered already.
std::vector<Interval> united(std::vector<Interval> intervals);

std::int64_t length(const std::vector<Interval>& disjoint);

// Length of what two results of united() have in common. O(n).
std::int64_t overlap(const std::vector<Interval>& a, const std::vector<Interval>& b);

}  // namespace foreshard::traces
