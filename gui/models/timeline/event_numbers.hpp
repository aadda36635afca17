// Ascending numbers of events, in a byte or two each: those of a row lie close together, so that most
// is said by the first of every 64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gui/models/base/narrow_numbers.hpp"

namespace foreshard::gui {

class EventNumbers {
 public:
  EventNumbers() = default;
  explicit EventNumbers(const std::vector<std::int32_t>& ascending) {
    firsts_.reserve(ascending.size() / kTogether + 1);
    beyond_.reserve(ascending.size());
    for (std::size_t n = 0; n < ascending.size(); ++n) {
      if (n % kTogether == 0) firsts_.push_back(ascending[n]);
      beyond_.push_back(static_cast<std::uint32_t>(ascending[n] - firsts_.back()));
    }
  }

  std::size_t size() const { return beyond_.size(); }
  std::int32_t operator[](std::size_t n) const {
    return firsts_[n / kTogether] + static_cast<std::int32_t>(beyond_[n]);
  }
  // Where the number is; size() where it is not.
  std::size_t find(std::int32_t number) const {
    std::size_t low = 0, high = size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if ((*this)[middle] < number) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < size() && (*this)[low] == number ? low : size();
  }

 private:
  static constexpr std::size_t kTogether = 64;

  std::vector<std::int32_t> firsts_;
  NarrowNumbers beyond_;  // the first of its 64
};

}  // namespace foreshard::gui
