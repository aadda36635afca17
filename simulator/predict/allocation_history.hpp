// One rank's predicted allocation history, from the set-up to the end of the last step, or to the
// request that no memory was left for. Buffers of the host are not in it.
#pragma once

#include "simulator/predict/prediction.hpp"
#include "traces/allocator/labelled_history.hpp"

namespace foreshard::simulator {

// Of a prediction that keeps its memory records.
traces::LabelledHistory allocation_history(const Prediction& prediction, int rank);

}  // namespace foreshard::simulator
