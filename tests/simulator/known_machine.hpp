// A machine whose costs are known: what it would record of a run.
#pragma once

#include <cstdint>
#include <string>

#include "models/sharding/job.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

inline Prediction predicted_on(const CostTable& machine, const Job& job, std::int64_t steps) {
  PredictionOptions options;
  options.steps = steps;
  options.costs = &machine;
  options.keeps_memory_records = true;
  return predict(job, options);
}

// A prediction that calls itself a measurement.
inline traces::Trace recorded_on(const CostTable& machine, const Job& job, std::int64_t steps) {
  traces::Trace trace = to_trace(job, predicted_on(machine, job, steps), "made up");
  trace.metadata["predicted"] = "0";
  trace.metadata["cpu_model"] = machine.machine_name;
  trace.metadata["cores"] = std::to_string(machine.cores);
  trace.metadata["threads_per_rank"] = std::to_string(threads_per_rank(machine.cores, job.ranks));
  return trace;
}

}  // namespace foreshard::simulator
