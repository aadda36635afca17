// What predictions by recordings of a part of the catalogue are off by: what the catalogue's are, of which
// published runs are the evidence (held_out_errors.hpp), joined with what the recordings show.
#pragma once

#include "simulator/costs/cost_table.hpp"

namespace foreshard::simulator {

// The logarithm of measured over predicted time at equal speed of the machine, of a recording that was
// left out of the fit.
double held_out_error(const Calibration& run);

// Each of those errors is worth one of the published runs, less what the costs admitted to; and the
// machine's speed differs as much as it did between the recordings. Where none was left out, no band is
// narrower than 10 %: nothing shows that the recordings are like other runs.
ErrorSpread joined_errors(ErrorSpread of_catalogue, const CostTable& table);

}  // namespace foreshard::simulator
