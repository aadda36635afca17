// A question: what is trained, by which plan and with what operators, on how many ranks of which machine, and
// what its times are taken from. Predictions, searches, runs and recordings restate theirs (models/question).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/base/device_traits.hpp"
#include "models/hardware/hardware.hpp"
#include "models/llama/llama_config.hpp"
#include "models/plan/plan.hpp"

namespace foreshard {

struct Question {
  LlamaConfig model;
  Plan plan;
  int ranks = 1;
  int nodes = 0;  // over which they are spread evenly; 0: not said, see node_count
  // What PyTorch's operators run on; nothing: an H100 SXM. Others do not depend on it.
  std::optional<Machine> machine;
  DeviceTraits own_device;  // what Foreshard's operators run on

  // As they were named; empty: they were not. `machine` may follow from the costs alone.
  std::string model_path, machine_id, costs;
};

// Of all ranks and micro-steps.
std::int64_t tokens_per_step(const Question& question);

// As many as were asked for, or the fewest that hold the ranks; 1 on a machine that nobody named.
int node_count(const Question& question);

}  // namespace foreshard
