// Remedies: changes of the plan that lower the memory a job needs.
//
// A list of single changes is tried on the plan; each that the model and the ranks allow is predicted
// like the plan itself. How much it saves is what a device without limit shows: on a full device the
// allocator gives its cache back, and plans of different needs reserve alike.
#pragma once

#include <vector>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// The three changes that save most, the best first; those that fit stand before those that do not.
// `options` are those of the prediction of `job`; `threads` predict at the same time.
Remedies find_remedies(const Job& job, const PredictionOptions& options, int threads);

}  // namespace foreshard::simulator
