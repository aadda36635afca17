// A prediction as people and other programs read it.
#pragma once

#include <string>

#include "models/sharding/job.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// The JSON object of `foreshard predict` (docs/json.md), without `schema_version`.
std::string prediction_json(const Job& job, const Prediction& prediction);
// Of it what a prediction of programs without a job has: {"peak", "outside_allocator_bytes"}.
std::string memory_json(const Prediction& prediction);
// `in_full`: every holder of memory, every pool and every step.
std::string prediction_text(const Job& job, const Prediction& prediction, bool in_full);

}  // namespace foreshard::simulator
