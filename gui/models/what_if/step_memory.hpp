// The parts of an outcome that are read off a prediction's last step, of the rank whose memory is
// highest: how long its streams compute in each phase, and what its allocator holds along the way.
//
// The host runs far ahead of the device, so that in its time memory would be a spike. An allocation
// stands where the first kernel of the compute stream starts that the host issues with or after it.
#pragma once

#include "gui/models/what_if/outcome.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::gui {

// Needs the prediction's memory records.
void add_step(Outcome& outcome, const simulator::Prediction& prediction);

}  // namespace foreshard::gui
