#include "simulator/engine/contention.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::simulator {

void CollectivesUnderWay::add(Interval collective) {
  const auto later = [](const Interval& a, const Interval& b) { return a.start < b.start; };
  intervals_.insert(std::upper_bound(intervals_.begin(), intervals_.end(), collective, later),
                    collective);
}

void CollectivesUnderWay::forget_before(std::int64_t time) {
  std::erase_if(intervals_, [&](const Interval& i) { return i.end <= time; });
}

// Times are taken from the start, so that a task that starts later by some nanoseconds, among
// collectives that do so too, ends later by as many.
std::int64_t CollectivesUnderWay::end_of_task(std::int64_t start, std::int64_t ns,
                                              double factor) const {
  double left = static_cast<double>(ns);
  std::int64_t now = start;
  for (const Interval& i : intervals_) {
    if (i.end <= now) continue;
    if (i.start > now) {
      const auto free = static_cast<double>(i.start - now);
      if (left <= free) break;
      left -= free;
      now = i.start;
    }
    const auto beside = static_cast<double>(i.end - now);
    if (left * factor <= beside) return now + std::llround(left * factor);
    left -= beside / factor;
    now = i.end;
  }
  return now == start ? start + ns : now + std::llround(left);
}

void CollectivesUnderWay::shift(std::int64_t ns) {
  for (Interval& i : intervals_) i = {i.start + ns, i.end + ns};
}

}  // namespace foreshard::simulator
