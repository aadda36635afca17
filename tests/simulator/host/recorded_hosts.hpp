// What is in tests/golden/host: recorded hosts, and how long steps took them.
#pragma once

#include <string>
#include <vector>

#include "models/sharding/job.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

struct RecordedStep {
  std::string id;
  double ms = 0;
};
std::vector<RecordedStep> recorded_steps();

// A recording that shows as many ranges as the recorded one, each as long as its name's lower decile.
traces::Trace recorded_ranges(const std::string& id);

// The step of 1b_base, 1b_ac_full or 1b_hf.
Job recorded_job(const std::string& id);

}  // namespace foreshard::simulator
