// A training run as people and other programs read it once it has ended.
#pragma once

#include <iosfwd>
#include <string>

#include "executor/run/training.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::executor {

// The memory of every rank of the run and of its GPUs, and where one ran out of it: the fields
// `ranks_memory`, `gpus_memory` and `oom` of the JSON answer and its `warnings`, as an object, with
// `steps_memory` by stretches of steps with the same peaks: `step` is the first, `steps` their number. Where several processes run it, all call this together; `transport` is nullptr
// otherwise.
std::string memory_json(const TrainingResult& result, Transport* transport);

// The members of the JSON object of `foreshard train` (docs/json.md), without `schema_version`, as lines
// that are indented by two; a step takes a line, as a run can have a million. `memory`: of memory_json.
// `trace`: path of the recording, or empty.
void write_training_json(std::ostream& out, const Job& job, const TrainingResult& result,
                         const std::string& memory, const std::string& trace);
std::string training_text(const Job& job, const TrainingResult& result);
// Which request failed, and what held the memory. Of a result with `oom`.
std::string out_of_memory_text(const TrainingResult& result);

}  // namespace foreshard::executor
