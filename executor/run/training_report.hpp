// A training run as people and other programs read it once it has ended.
#pragma once

#include <string>

#include "executor/run/training.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::executor {

// The memory of every rank of the run and of its GPUs, and where one ran out of it: the fields
// `ranks_memory`, `steps_memory` (by step, then rank), `gpus_memory` and `oom` of the JSON answer,
// and its `warnings`, as an object. Where several processes run it, all call this together; `transport` is nullptr
// otherwise.
std::string memory_json(const TrainingResult& result, Transport* transport);

// The JSON object of `foreshard train` (docs/json.md), without `schema_version`. `memory`: of
// memory_json. `trace`: path of the recording, or empty.
std::string training_json(const Job& job, const TrainingResult& result, const std::string& memory,
                          const std::string& trace);
std::string training_text(const Job& job, const TrainingResult& result);
// Which request failed, and what held the memory. Of a result with `oom`.
std::string out_of_memory_text(const TrainingResult& result);

}  // namespace foreshard::executor
