// The level of detail of a counter: the mean and the highest of its values in any cell of time.
//
// Cells are those of Pyramid, at absolute multiples of 2^k nanoseconds. Any of them is found in
// logarithmic time, from sums over time and from the highest of 16, 256, 4096 ... samples: 9 bytes a
// sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/counter.hpp"

namespace foreshard::gui {

class CounterLevels {
 public:
  // The last value holds until `end_ns`. The counter has samples and stays as long as its levels.
  CounterLevels(const traces::Counter& counter, std::int64_t end_ns, double least_top);

  const traces::Counter& counter() const { return counter_; }

  struct Values {
    double mean = 0, highest = 0;
  };
  // Nothing where no value holds within that stretch, which has a length.
  std::optional<Values> within(traces::Interval stretch) const;

  struct Column {
    traces::Interval cell;
    Values values;
  };
  // Of the cells that touch the window, at least two pixels wide; none where no value holds.
  std::vector<Column> columns(traces::Interval window, double ns_per_pixel) const;

  // What the height of its row stands for: from 0, or the lowest value below it, to the highest or
  // `least_top`.
  double top() const { return top_; }
  double share_of_height(double value) const { return (value - bottom_) / (top_ - bottom_); }

  // The sample that holds at that moment, and for how long.
  std::optional<std::size_t> sample_at(std::int64_t ns) const;
  traces::Interval span(std::size_t sample) const;

 private:
  double sum_until(std::int64_t ns) const;  // of values times nanoseconds, from the first sample on
  double highest_of(std::size_t first, std::size_t end) const;  // samples

  const traces::Counter& counter_;
  std::int64_t end_ns_;
  double bottom_ = 0, top_ = 0;
  std::vector<double> sums_;                  // until each sample
  std::vector<std::vector<double>> highest_;  // of 16, 256, ... samples
};

}  // namespace foreshard::gui
