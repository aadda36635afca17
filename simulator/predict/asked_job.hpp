// A job that was asked for by names and files, and what its times are taken from: what a prediction
// needs from the words of a command line or of the installed interface.
#pragma once

#include <optional>

#include "models/question/asked.hpp"
#include "models/sharding/job.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

struct AskedJob {
  Job job;
  std::optional<CostTable> costs;

  // Of its costs and machine. Points into this.
  PredictionOptions prediction_options() const;
};

// Reads the cost file and makes the job; its warnings begin with what a converted plan left out. Errors
// name the option or the file and the key, what is wrong and what is expected.
Result<AskedJob> asked_job(Asked asked, const OwnDevice& own_device);

}  // namespace foreshard::simulator
