// A value after each of many events that holds for stretches of them, such as what is reserved: kept
// where it changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gui/models/memory/highest_of.hpp"

namespace foreshard::gui {

class HeldValues {
 public:
  void push_back(std::int64_t value);
  void finish();  // after the last, before any is asked for

  std::size_t size() const { return size_; }
  std::int64_t operator[](std::size_t event) const { return values_[stretch_of(event)]; }
  // In force after any of the events in [first, last), which is not empty.
  std::int64_t highest(std::size_t first, std::size_t last) const;
  // Of values that ascend: the first event from `from` on, below which all are below the limit, whose
  // value is not; size() where there is none. Near `from` the search is quick.
  std::size_t first_not_below(std::int64_t limit, std::size_t from) const;

 private:
  std::size_t stretch_of(std::size_t event) const;

  std::size_t size_ = 0;
  std::vector<std::int64_t> values_;       // of each stretch
  std::vector<std::uint32_t> from_;        // the event with which it begins
  std::vector<std::uint32_t> stretch_of_;  // every 64th event
  HighestOf highest_of_;
};

}  // namespace foreshard::gui
