// The memory section of a prediction's report.
#pragma once

#include <string>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// What holds memory at the peak, what else is reserved and what the allocator does not hold; the
// remedies, where there are any. `is_pytorch`: it is PyTorch's allocator. `in_full`: every holder, pool
// and step.
std::string memory_text(const Prediction& prediction, bool is_pytorch, bool in_full);

}  // namespace foreshard::simulator
