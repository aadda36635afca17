// Levels of several layers after each of many events: what each event changed, by one of a few
// different changes, a byte or two an event, and check points of all levels between which changes are
// added up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gui/models/memory/highest_of.hpp"
#include "gui/models/base/narrow_numbers.hpp"
#include "traces/compact_list.hpp"

namespace foreshard::gui {

class LevelHistory {
 public:
  static constexpr std::uint8_t kNoLayer = UINT8_MAX;
  static constexpr std::size_t kBetweenCheckPoints = 64;  // events

  struct Part {
    std::uint8_t layer = kNoLayer;
    std::int64_t bytes = 0;  // none where there is no layer
    bool operator==(const Part&) const = default;
  };
  using Change = std::array<Part, 2>;  // an event may replace a block of another layer

  LevelHistory() = default;
  LevelHistory(std::size_t layers, std::size_t events);  // that are expected

  void add(const Change& change);
  void finish();  // after the last, before any is asked for

  std::size_t size() const { return changes_.size(); }
  std::int64_t total(std::size_t event) const;                // of all layers, after it
  std::vector<std::int64_t> levels(std::size_t event) const;  // of each layer, after it
  // Turns the levels after one event into those after a later one.
  void advance(std::size_t from, std::size_t to, std::span<std::int64_t> levels) const;
  // Of the events in [first, last), which is not empty, the first after which the total is highest.
  std::size_t highest(std::size_t first, std::size_t last) const;

 private:
  struct ChangeHash {
    std::size_t operator()(const Change& change) const;
  };
  struct Highest {
    std::size_t event;
    std::int64_t total;
  };

  const Change& change(std::size_t event) const { return known_[changes_[event]]; }
  Highest highest_between_check_points(std::size_t first, std::size_t last) const;

  std::size_t layers_ = 0;
  traces::UniqueValues<Change, ChangeHash> known_;
  NarrowNumbers changes_;  // of known_, of each event
  std::vector<std::int64_t> now_;
  std::int64_t now_total_ = 0;
  // After every 64th event: the level of each layer, and the total.
  std::vector<std::int64_t> levels_, totals_;
  std::vector<std::int64_t> highest_;  // total from one check point to the next
  HighestOf highest_of_;               // these
};

}  // namespace foreshard::gui
