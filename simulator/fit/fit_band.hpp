// The error band of predictions by a table, from recordings it was not fitted to.
//
// Each recording that the others can predict gives one error. The spread of few errors is uncertain, so
// they are joined to what was known beforehand, and the band is that of Student's distribution for as
// many as there are. Nothing is clipped, and nothing comes from how well a fit fits itself. The
// machine's own changes of speed are kept apart: errors are relative to the speed of each recording,
// and the spread of those speeds is part of the band.
#pragma once

#include <vector>

#include "simulator/costs/cost_table.hpp"

namespace foreshard::simulator {

struct Band {
  double half_width = 0;  // of the logarithm, at 90 %, of a step whose costs are sure
  double uncertainty_scale =
      1;           // what unsure costs' own errors have to be multiplied by; never below 1
  int errors = 0;  // held-out errors they rest on
};

Band band_of(const CostTable& table);

// Of the recordings that could be predicted from the others, how many lie inside the band that the
// remaining ones make: as they were measured, at whatever speed the machine had, for the band holds
// the spread of speeds.
struct BandCheck {
  int tried = 0, inside = 0;
};
BandCheck check_band(const CostTable& table);

}  // namespace foreshard::simulator
