#include "traces/intervals.hpp"

#include <algorithm>

namespace foreshard::traces {

std::vector<Interval> united(std::vector<Interval> intervals) {
  const auto by_start = [](const Interval& a, const Interval& b) {
    return a.start_ns < b.start_ns;
  };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_start)) {
    std::sort(intervals.begin(), intervals.end(), by_start);
  }
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (kept > 0 && next.start_ns <= intervals[kept - 1].end_ns) {
      intervals[kept - 1].end_ns = std::max(intervals[kept - 1].end_ns, next.end_ns);
    } else {
      intervals[kept++] = next;
    }
  }
  intervals.resize(kept);
  return intervals;
}

std::int64_t length(const std::vector<Interval>& disjoint) {
  std::int64_t sum = 0;
  for (const Interval& interval : disjoint) sum += interval.end_ns - interval.start_ns;
  return sum;
}

std::int64_t overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::int64_t start = std::max(a[i].start_ns, b[j].start_ns);
    const std::int64_t end = std::min(a[i].end_ns, b[j].end_ns);
    if (start < end) sum += end - start;
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

}  // namespace foreshard::traces
