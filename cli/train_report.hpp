// The report of `foreshard train` at the end of a run, as JSON and as text.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "executor/run/training.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::cli {

// The fields `ranks_memory`, `steps_memory` (by step, then rank) and `oom`.
using MemoryReport = nlohmann::ordered_json;

// Of every rank of the run. Where several processes run it, all call this together; `transport` is
// nullptr otherwise.
MemoryReport memory_report(const executor::TrainingResult& result, executor::Transport* transport);

nlohmann::ordered_json train_json(const Job& job, const executor::TrainingResult& result,
                                  const MemoryReport& memory, const std::string& trace);
std::string train_summary(const Job& job, const executor::TrainingResult& result);
// To standard error: which request failed, and what held the memory. Of a result with `oom`.
void print_out_of_memory(const executor::TrainingResult& result);

}  // namespace foreshard::cli
