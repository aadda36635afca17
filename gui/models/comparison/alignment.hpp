// Where the moments of two steps are drawn: each by its own clock, or moved so that every unit
// begins at the same place on both sides, which leaves the difference of each unit alone to be
// seen.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/comparison/step_comparison.hpp"

namespace foreshard::gui {

enum class Arrangement : std::uint8_t { by_clock, by_instruction, overlay };

class Alignment {
 public:
  Alignment() = default;  // by clock
  Alignment(const StepComparison& step, Arrangement arrangement);

  // Moments count from the start of the step.
  std::int64_t place(bool is_candidate, std::int64_t ns) const;
  std::int64_t end_ns() const { return end_ns_; }

 private:
  struct Shift {
    std::int64_t from_ns = 0, by_ns = 0;
  };
  std::vector<Shift> baseline_, candidate_;  // ascending
  std::int64_t end_ns_ = 0;
};

}  // namespace foreshard::gui
