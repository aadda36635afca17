// Rows that no lane has: when the device was in which phase and at which unit, and when it
// communicated without computing.
#pragma once

#include <vector>

#include "gui/models/timeline/row.hpp"

namespace foreshard::gui {

struct DerivedRows {
  std::vector<DerivedSpan> phases, units, exposed;
};

// A phase and a unit last from the first of a run of their kernels to the end of its last, over the
// kernels of the rank's streams in the order of time. Streams of copies are left out, as they run ahead:
// the copy into the next unit's all-gather does not interrupt the unit that computes. Host threads serve
// where there is no device. None where the recording has neither phases nor units.
DerivedRows derive_rows(const traces::Trace& trace, int rank);

}  // namespace foreshard::gui
