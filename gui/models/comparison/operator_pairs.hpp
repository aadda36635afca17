// How the pairs of one operator depart from equality, and what that says. Pairs that are parallel
// to the diagonal of a log-log plot are all off by one factor: the machine was faster or slower.
// Pairs that fan out are off by more the longer they take: the formula of the operator is off.
#pragma once

#include <QString>
#include <cstddef>
#include <vector>

#include "gui/models/comparison/step_comparison.hpp"

namespace foreshard::gui {

struct PairSpread {
  std::size_t pairs = 0;
  double factor = 1;  // candidate over baseline, the geometric mean
  double spread = 0;  // standard deviation of the logarithm of that ratio
  double slope = 0;   // of that logarithm over that of the baseline's duration
  // How it departs, told from the three above.
  enum class Shape : std::uint8_t { none, equal, parallel, fanning, scattered } shape = Shape::none;
};

// Of the operator with that name; pairs of which a side took no time do not count.
PairSpread pair_spread(const std::vector<ComparedPair>& pairs, const std::string& name);

// A sentence about it.
QString why_sentence(const PairSpread& spread, bool is_prediction);

}  // namespace foreshard::gui
