// Training on so many tokens: how long it takes by a plan and what it costs, with checkpoints and failures
// (goodput.hpp), and the limits that a plan has to keep.
#pragma once

#include <cstdint>
#include <optional>

#include "models/hardware/hardware.hpp"
#include "models/sharding/job.hpp"
#include "simulator/search/goodput.hpp"

namespace foreshard::simulator {

struct TrainingGoal {
  double tokens = 0;
  std::optional<double> budget_usd = {}, deadline_s = {};
  double gpu_mtbf_s = kGpuMtbfHours * 3600;  // mean time between failures of one GPU
  double restart_s = kRestartSeconds;        // without the loading of a checkpoint
  double storage_bandwidth =
      0;  // of all hosts together, bytes/s; 0: each has that of the catalogue

  bool has_limits() const { return budget_usd || deadline_s; }
};

// Of a run of the job; nothing where nobody knows how fast its storage is.
std::optional<Reliability> reliability(const Job& job, const Machine* machine,
                                       const TrainingGoal& goal);

// Of all tokens. Money is unknown where the rent is.
struct TrainingCost {
  double seconds = 0;
  std::optional<double> usd;
};

// At so many tokens a second that are kept, for a rent in US dollars an hour (0: unknown).
TrainingCost training_cost(const TrainingGoal& goal, double tokens_per_s, double usd_per_hour);

enum class Limit : std::uint8_t { none, budget, deadline };
// The first that it breaks; an unknown price breaks a budget.
Limit broken_limit(const TrainingGoal& goal, const TrainingCost& cost);

}  // namespace foreshard::simulator
