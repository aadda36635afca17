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

  // A stretch of a step that is moved as one. Moments count from the start of the step.
  struct Piece {
    traces::Interval time;
    std::int64_t by_ns = 0;
  };
  // They cover the step, in the order of time; none moves further than the one after it. What is shorter than
  // `least_ns` moves with the piece before it.
  std::vector<Piece> pieces(bool is_candidate, std::int64_t least_ns = 0) const;
  std::int64_t place(bool is_candidate, std::int64_t ns) const;
  // Which moment is drawn there; between two pieces the end of the first.
  std::int64_t moment(bool is_candidate, std::int64_t place) const;
  std::int64_t end_ns() const { return end_ns_; }

 private:
  const std::vector<Piece>& all_pieces(bool is_candidate) const {
    return is_candidate ? candidate_ : baseline_;
  }

  std::vector<Piece> baseline_, candidate_;
  std::int64_t end_ns_ = 0;
};

}  // namespace foreshard::gui
