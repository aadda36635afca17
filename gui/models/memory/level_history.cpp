#include "gui/models/memory/level_history.hpp"

#include <algorithm>

namespace foreshard::gui {
namespace {

std::int64_t total_of(const LevelHistory::Change& change) {
  return change[0].bytes + change[1].bytes;
}

}  // namespace

std::size_t LevelHistory::ChangeHash::operator()(const Change& change) const {
  std::uint64_t hash = 0;
  for (const Part& part : change) {
    hash = (hash ^ static_cast<std::uint64_t>(part.bytes) ^ part.layer) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

LevelHistory::LevelHistory(std::size_t layers, std::size_t events) : layers_(layers), now_(layers) {
  const std::size_t check_points = events / kBetweenCheckPoints + 1;
  changes_.reserve(events);
  levels_.reserve(check_points * layers);
  totals_.reserve(check_points);
  highest_.reserve(check_points);
}

void LevelHistory::add(const Change& change) {
  for (const Part& part : change) {
    if (part.layer != kNoLayer) now_[part.layer] += part.bytes;
  }
  now_total_ += total_of(change);
  if (size() % kBetweenCheckPoints == 0) {
    levels_.insert(levels_.end(), now_.begin(), now_.end());
    totals_.push_back(now_total_);
    highest_.push_back(now_total_);
  }
  highest_.back() = std::max(highest_.back(), now_total_);
  changes_.push_back(known_.number(change));
}

void LevelHistory::finish() {
  highest_of_ = HighestOf(highest_);
}

std::int64_t LevelHistory::total(std::size_t event) const {
  const std::size_t known = event / kBetweenCheckPoints;
  std::int64_t total = totals_[known];
  for (std::size_t n = known * kBetweenCheckPoints + 1; n <= event; ++n) {
    total += total_of(change(n));
  }
  return total;
}

std::vector<std::int64_t> LevelHistory::levels(std::size_t event) const {
  const std::size_t known = event / kBetweenCheckPoints;
  const auto begin = levels_.begin() + static_cast<std::ptrdiff_t>(known * layers_);
  std::vector<std::int64_t> levels(begin, begin + static_cast<std::ptrdiff_t>(layers_));
  advance(known * kBetweenCheckPoints, event, levels);
  return levels;
}

void LevelHistory::advance(std::size_t from, std::size_t to, std::span<std::int64_t> levels) const {
  for (std::size_t n = from + 1; n <= to; ++n) {
    for (const Part& part : change(n)) {
      if (part.layer != kNoLayer) levels[part.layer] += part.bytes;
    }
  }
}

LevelHistory::Highest LevelHistory::highest_between_check_points(std::size_t first,
                                                                 std::size_t last) const {
  std::int64_t now = total(first);
  Highest highest{first, now};
  for (std::size_t n = first + 1; n < last; ++n) {
    now += total_of(change(n));
    if (now > highest.total) highest = {n, now};
  }
  return highest;
}

// What is not whole at either end is added up; of all between, the highest is known.
std::size_t LevelHistory::highest(std::size_t first, std::size_t last) const {
  constexpr std::size_t kEach = kBetweenCheckPoints;
  const std::size_t next = (first / kEach + 1) * kEach;
  Highest highest = highest_between_check_points(first, std::min(next, last));
  const std::size_t whole = std::max(next / kEach, last / kEach);
  if (next / kEach < whole) {
    const std::size_t within = highest_of_.find(highest_, next / kEach, whole);
    if (highest_[within] > highest.total) {
      highest =
          highest_between_check_points(within * kEach, std::min((within + 1) * kEach, size()));
    }
  }
  if (next < last && whole * kEach < last) {
    const Highest rest = highest_between_check_points(whole * kEach, last);
    if (rest.total > highest.total) highest = rest;
  }
  return highest.event;
}

}  // namespace foreshard::gui
