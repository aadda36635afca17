// Samples that `fit` takes from one recording.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/base/error.hpp"
#include "models/program/operators.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/fit/rank_variation.hpp"
#include "simulator/fit/segment_samples.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

// One task that ran. `bytes_per_ns` is what it moves undisturbed, `beside` what others on the machine
// would have moved undisturbed at the same time, averaged over the task's duration.
struct TaskSample {
  std::int32_t key = 0;  // index into RunSamples::keys
  bool on_host = false;
  double ns = 0;
  double bytes_per_ns = 0;
  double beside = 0;
  bool may_have_waited = false;  // a collective of which not all ranks were recorded
  std::int64_t nodes = 0;        // that its group was spread over; 0: not known
};

struct RunSamples {
  std::string file;
  std::string model_json, plan_toml;  // empty where the recording has none
  int ranks = 1;
  int threads = 1;
  int cores = 1;
  bool has_all_ranks = true;    // false: only some of them were recorded
  std::string machine_name;     // of the processor, or of the device
  bool is_accelerator = false;  // each rank has a device of its own
  DeviceTraits device;          // that our own step program was made for
  std::int64_t step_ns = 0;     // median of the steps after the second, 0 without any
  double recorder_share = 0;    // of that, spent on recording; step_ns is without it

  std::vector<CostKey> keys;
  std::vector<TaskSample> tasks;
  std::int64_t tasks_without_key = 0;  // work that the recording does not describe well enough

  // Durations by kind of instruction, and what latencies were seen, all in nanoseconds.
  std::array<std::vector<double>, static_cast<std::size_t>(kKinds)> issue;
  SegmentSamples segments;
  RankStepTimes rank_steps;  // of accelerators
  std::optional<RecordedHost> pytorch_host;
  std::vector<double> launch_latency, stream_gap, event_latency, wait_latency, rendezvous;
};

// Errors: a prediction, or metadata that no run has.
Result<RunSamples> samples_of(const traces::Trace& trace, const std::string& file);

// The value below which a share of the values lies; 0 of none. Reorders them.
double quantile(std::vector<double>& values, double share);

}  // namespace foreshard::simulator
