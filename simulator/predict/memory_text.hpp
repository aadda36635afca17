// The memory section of a prediction's report.
#pragma once

#include <string>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// What holds memory at the peak, what is reserved beside it and what the allocator does not hold;
// the remedies where somebody looked for them. `in_full`: every holder, pool and step.
std::string memory_text(const Prediction& prediction, bool in_full);

}  // namespace foreshard::simulator
