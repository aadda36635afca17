// A recording as a network of moments and of what lies between them, "activity on arrow" as in
// project planning: an arrow says that its moment comes no sooner than an activity's time after
// another one. The times of a recording under other conditions are then longest paths, which give
// its critical path and slack as well.
//
// Whoever builds the network adds moments in an order in which each is only led to by earlier ones.
// So there is no cycle, by construction, and every question is one pass over flat arrays. The time
// of a moment is a maximum of sums of times that are not negative: when an activity takes longer,
// nothing happens sooner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace foreshard::simulator {

using Moment = std::uint32_t;
using ActivityId = std::uint32_t;

// From an earlier moment, by what happens in between and how long that takes.
struct Arrow {
  Moment from = 0;
  ActivityId activity = 0;
  std::int64_t ns = 0;  // not negative
};

// What an activity takes when all of its kind take `factor` times as long, to the nearest
// nanosecond.
std::int64_t scaled(std::int64_t ns, double factor);

class ActivityNetwork {
 public:
  static constexpr Moment kOrigin = 0;  // is there from the start, at time 0

  // A moment to which these lead, all from moments that were added before; at time 0 without any.
  Moment add(std::span<const Arrow> arrows);

  std::size_t size() const { return first_arrow_.size() - 1; }
  std::span<const Arrow> arrows_to(Moment moment) const;

  // In what follows `factors` are by activity. The earliest time of every moment.
  std::vector<std::int64_t> times(std::span<const double> factors) const;

  // By moment: how much later it could come without any coming later than `end`.
  std::vector<std::int64_t> slack(std::span<const double> factors,
                                  std::span<const std::int64_t> times, std::int64_t end) const;

  // The arrows of a longest path from the origin to `last`, in the order of time, with the time
  // each takes under `factors`: together that of `last`.
  std::vector<Arrow> critical_path(std::span<const double> factors,
                                   std::span<const std::int64_t> times, Moment last) const;

 private:
  std::vector<Arrow> arrows_;
  std::vector<std::size_t> first_arrow_{0, 0};  // by moment, and the end of the last one's
};

}  // namespace foreshard::simulator
