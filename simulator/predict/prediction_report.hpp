// A prediction as people and other programs read it.
#pragma once

#include <iosfwd>
#include <string>

#include "models/sharding/job.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// The JSON object of `foreshard predict` (docs/json.md), without `schema_version`.
std::string prediction_json(const Job& job, const Prediction& prediction);
std::string prediction_text(const Job& job, const Prediction& prediction);

// One rank's allocation history as JSON lines, in the words of PyTorch's memory history; of a
// prediction that keeps its memory records.
void write_memory_events(const Prediction& prediction, int rank, std::ostream& out);

}  // namespace foreshard::simulator
