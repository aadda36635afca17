// How far predictions are off beyond the uncertainty of their costs: from runs that nothing in them was fitted
// from, by the way in which costs are known. The catalogue's rates were not fitted to the steps of
// the bundled runs, though the clock under load was chosen with some of them in view; observed rates
// were, to two other runs by the same hand.
//
// The errors are data (models/hardware/catalogue/step_errors.csv, which scripts/published_table
// writes): of each run the logarithm of measured over predicted time, and the standard deviation that
// the costs admitted to. What they leave out has the standard deviation s with which half of the errors
// lie within the probable error of theirs, 0.6745 hypot(s, admitted). Nothing is assumed of how far the
// others are off: the band of 90 % is as many standard deviations wide as the finite-sample quantile of
// split conformal prediction says, the ceil(0.9 (n + 1))-th smallest of n scores
// |error| / hypot(s, admitted) (Vovk et al., Algorithmic Learning in a Random World; Lei et al.,
// Distribution-Free Predictive Inference for Regression, arXiv 1604.04173, with scores relative to the
// model's own deviation). Runs by one hand are off alike, and no run should widen the band until it holds
// itself: the quantile is the mean of those with one source left out, each as often as it has runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foreshard::simulator {

// In standard deviations and relative to the step: what is left out, and what holds 90 %.
struct ErrorSpread {
  double deviation = 0;
  double quantile = 0;
  std::string basis;  // what they were read from, in words
  // What comes on top for a part unlike those of the runs: a standard deviation, and why.
  double beyond = 0;
  std::string beyond_name{}, beyond_basis{};
  double least_half_width = 0;  // of the logarithm: no band is narrower
};

// How the costs of a step are known.
enum class CostWay : std::uint8_t {
  catalogue,  // a part's data sheet and the rates of its generation
  observed,   // those, corrected by runs of the machine whose throughput is known
  kCount
};

struct HeldOutError {
  double logarithm = 0;  // of measured over predicted
  double admitted = 0;   // standard deviation
  std::string source;    // who published the run, and where
  bool has_known_settings = true;
};

// Of those whose settings are known, at least one: the others are off by what was assumed of their plans
// as well. With fewer than nine there is no finite quantile of 90 %: the largest score stands for it.
ErrorSpread spread_of(const std::vector<HeldOutError>& errors);

// The bundled errors, and their spread.
const std::vector<HeldOutError>& held_out_errors(CostWay way);
const ErrorSpread& held_out_spread(CostWay way);

}  // namespace foreshard::simulator
