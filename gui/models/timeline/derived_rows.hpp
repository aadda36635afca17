// Rows that no lane has: when the device was in which phase and at which unit, and when it
// communicated without computing.
#pragma once

#include <vector>

#include "gui/models/timeline/row.hpp"

namespace foreshard::gui {

struct DerivedRows {
  std::vector<DerivedSpan> phases, units, exposed;
};

// A phase and a unit last from the first of their kernels to the next one's, over the kernels of the
// rank's streams in the order of time; host threads serve where there is no device. None where the
// recording has neither phases nor units.
DerivedRows derive_rows(const traces::Trace& trace, int rank);

}  // namespace foreshard::gui
