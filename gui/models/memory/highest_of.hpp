// Finds the highest of any stretch of a long array in a few hundred steps: of every 16 values, of
// every 16 of those and so on, it remembers which is the highest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace foreshard::gui {

class HighestOf {
 public:
  HighestOf() = default;
  explicit HighestOf(std::span<const std::int64_t> values);

  // Index of the highest in [first, last), which is not empty; of equal ones the first. `values`
  // are those it was made of.
  std::size_t find(std::span<const std::int64_t> values, std::size_t first, std::size_t last) const;

 private:
  std::vector<std::vector<std::uint32_t>> levels_;  // of 16, 256, ... values each
};

}  // namespace foreshard::gui
