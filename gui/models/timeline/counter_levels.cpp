#include "gui/models/timeline/counter_levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/models/timeline/pyramid.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kGroup = 16;  // samples, or groups of them

}  // namespace

CounterLevels::CounterLevels(const traces::Counter& counter, std::int64_t end_ns, double least_top)
    : counter_(counter), end_ns_(std::max(end_ns, counter.samples.back().time_ns)) {
  const auto& samples = counter.samples;
  sums_.reserve(samples.size());
  double sum = 0;
  std::vector<double> values;
  values.reserve(samples.size());
  for (std::size_t n = 0; n < samples.size(); ++n) {
    sums_.push_back(sum);
    const traces::Interval held = span(n);
    sum += samples[n].value * static_cast<double>(held.end_ns - held.start_ns);
    values.push_back(samples[n].value);
  }
  const auto [lowest, highest] = std::ranges::minmax(values);
  bottom_ = std::min(lowest, 0.0);
  top_ = std::max(highest, least_top);
  if (top_ <= bottom_) top_ = bottom_ + 1;
  for (std::vector<double>* finer = &values; finer->size() >= kGroup; finer = &highest_.back()) {
    std::vector<double> groups;
    for (std::size_t first = 0; first + kGroup <= finer->size(); first += kGroup) {
      const auto begin = finer->begin() + static_cast<std::ptrdiff_t>(first);
      groups.push_back(*std::max_element(begin, begin + kGroup));
    }
    highest_.push_back(std::move(groups));
  }
}

traces::Interval CounterLevels::span(std::size_t sample) const {
  const auto& samples = counter_.samples;
  return {samples[sample].time_ns,
          sample + 1 < samples.size() ? samples[sample + 1].time_ns : end_ns_};
}

std::optional<std::size_t> CounterLevels::sample_at(std::int64_t ns) const {
  const auto after =
      std::ranges::upper_bound(counter_.samples, ns, {}, &traces::CounterSample::time_ns);
  if (after == counter_.samples.begin() || ns >= end_ns_) return std::nullopt;
  return static_cast<std::size_t>(after - counter_.samples.begin()) - 1;
}

double CounterLevels::sum_until(std::int64_t ns) const {
  const auto after =
      std::ranges::upper_bound(counter_.samples, ns, {}, &traces::CounterSample::time_ns);
  const auto sample = static_cast<std::size_t>(after - counter_.samples.begin()) - 1;
  return sums_[sample] + counter_.samples[sample].value *
                             static_cast<double>(ns - counter_.samples[sample].time_ns);
}

double CounterLevels::highest_of(std::size_t first, std::size_t end) const {
  double highest = -std::numeric_limits<double>::infinity();
  while (first < end) {
    std::size_t level = 0, length = 1;
    while (level < highest_.size() && first % (length * kGroup) == 0 &&
           first + length * kGroup <= end) {
      length *= kGroup;
      ++level;
    }
    highest = std::max(
        highest, level == 0 ? counter_.samples[first].value : highest_[level - 1][first / length]);
    first += length;
  }
  return highest;
}

std::optional<CounterLevels::Values> CounterLevels::within(traces::Interval stretch) const {
  const std::int64_t start = std::max(stretch.start_ns, counter_.samples.front().time_ns);
  const std::int64_t end = std::min(stretch.end_ns, end_ns_);
  if (start >= end) return std::nullopt;
  const std::size_t first = *sample_at(start), last = *sample_at(end - 1);
  return Values{(sum_until(end) - sum_until(start)) / static_cast<double>(end - start),
                highest_of(first, last + 1)};
}

std::vector<CounterLevels::Column> CounterLevels::columns(traces::Interval window,
                                                          double ns_per_pixel) const {
  const int level = column_level(ns_per_pixel);
  const std::int64_t first =
      cell_of(std::max(window.start_ns, counter_.samples.front().time_ns), level);
  const std::int64_t end = std::min(window.end_ns, end_ns_);
  std::vector<Column> columns;
  for (std::int64_t number = first; (number << level) < end; ++number) {
    const traces::Interval cell = time_of_cell(number, level);
    if (const auto values = within(cell)) columns.push_back({cell, *values});
  }
  return columns;
}

}  // namespace foreshard::gui
