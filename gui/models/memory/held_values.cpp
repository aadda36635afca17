#include "gui/models/memory/held_values.hpp"

#include "gui/models/memory/ascending_search.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kBetweenKnown = 64;  // events

}  // namespace

void HeldValues::push_back(std::int64_t value) {
  if (values_.empty() || values_.back() != value) {
    values_.push_back(value);
    from_.push_back(static_cast<std::uint32_t>(size_));
  }
  if (size_++ % kBetweenKnown == 0) {
    stretch_of_.push_back(static_cast<std::uint32_t>(values_.size() - 1));
  }
}

void HeldValues::finish() {
  values_.shrink_to_fit();
  from_.shrink_to_fit();
  stretch_of_.shrink_to_fit();
  highest_of_ = HighestOf(values_);
}

std::size_t HeldValues::stretch_of(std::size_t event) const {
  std::size_t stretch = stretch_of_[event / kBetweenKnown];
  while (stretch + 1 < from_.size() && from_[stretch + 1] <= event) ++stretch;
  return stretch;
}

std::int64_t HeldValues::highest(std::size_t first, std::size_t last) const {
  return values_[highest_of_.find(values_, stretch_of(first), stretch_of(last - 1) + 1)];
}

std::size_t HeldValues::first_not_below(std::int64_t limit, std::size_t from) const {
  if (from >= size_) return size_;
  const std::size_t stretch = stretch_of(from);
  if (values_[stretch] >= limit) return from;
  const std::size_t found = gui::first_not_below(values_, limit, stretch);
  return found == values_.size() ? size_ : from_[found];
}

}  // namespace foreshard::gui
