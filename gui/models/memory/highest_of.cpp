#include "gui/models/memory/highest_of.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kFactor = 16;

}  // namespace

HighestOf::HighestOf(std::span<const std::int64_t> values) {
  for (std::size_t below = values.size(); below >= kFactor; below /= kFactor) {
    std::vector<std::uint32_t> level(below / kFactor);
    for (std::size_t cell = 0; cell < level.size(); ++cell) {
      std::size_t best = 0;
      for (std::size_t n = 0; n < kFactor; ++n) {
        const std::size_t part = cell * kFactor + n;
        const std::size_t candidate = levels_.empty() ? part : levels_.back()[part];
        if (n == 0 || values[candidate] > values[best]) best = candidate;
      }
      level[cell] = static_cast<std::uint32_t>(best);
    }
    levels_.push_back(std::move(level));
  }
}

std::size_t HighestOf::find(std::span<const std::int64_t> values, std::size_t first,
                            std::size_t last) const {
  std::size_t best = first;
  while (first < last) {
    // The widest cell that begins here and is all within.
    std::size_t candidate = first, width = 1, wider = kFactor;
    for (const auto& level : levels_) {
      if (first % wider != 0 || first + wider > last) break;
      width = wider;
      candidate = level[first / wider];
      wider *= kFactor;
    }
    if (values[candidate] > values[best]) best = candidate;
    first += width;
  }
  return best;
}

}  // namespace foreshard::gui
