// The costs fitted to recordings of a machine, as stored in a cost file (costs.json).
//
// A regime is a number of threads per rank: a kernel that owns one thread and one that owns two are
// different things, so every table exists once per regime. Within a regime:
//
//   measured     median processor time of every cost key that was seen; a collective's is that of
//                its last arriver, which does not wait
//   operators    for each operator and dtype: time = overhead + max(flops x a, bytes x b)
//   collectives  for each of them, dtype, group and nodes: time = a + c sqrt(bytes) + b x bytes
//   host         what each kind of instruction costs the host thread, and the latencies of threads
//
// Times are those of a task that nothing else slows down, on the machine at the mean speed of its
// recordings; what running together costs is kept apart in `memory_bytes_per_ns` (the machine's
// memory bandwidth that tasks share) and in `crowding`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/base/error.hpp"
#include "models/program/operators.hpp"
#include "simulator/costs/device_rates.hpp"
#include "simulator/costs/held_out_errors.hpp"
#include "simulator/costs/rank_variation.hpp"
#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

// Bounds of what recordings and cost files contain.
constexpr int kMaxRanks = 1 << 24;
constexpr int kMaxThreads = 1 << 20;  // of a rank
constexpr int kMaxCores = 1 << 20;

struct MeasuredCost {
  double ns = 0;
  std::int64_t count = 0;
  std::int64_t nodes = 0;  // that a collective's group was spread over; 0: not known
};

// What a fit rests on: how many cost keys of how many sizes, from which to which. Work is counted as
// work() counts it (key_facts.hpp).
struct FitRange {
  std::int64_t samples = 0;
  std::int64_t sizes = 0;  // that differ by more than what noise could make of one
  double least_work = 0, most_work = 0;
  double least_intensity = 0, most_intensity = 0;  // operations a byte
  double longest_ns = 0;                           // the time of the largest
};

struct OperatorFit {
  Operator op = Operator::kCount;
  DType dtype = DType::fp32;
  bool on_host = false;
  double overhead_ns = 0;
  double ns_per_flop = 0;
  double ns_per_byte = 0;
  double residual = 0;  // root mean square relative error over its samples
  FitRange range;
};

struct CollectiveFit {
  Operator op = Operator::kCount;
  DType dtype = DType::fp32;
  std::int64_t group = 1;  // ranks
  std::int64_t nodes = 1;  // over which they were spread
  double base_ns = 0;
  double ns_per_root_byte = 0;
  double ns_per_byte = 0;
  double residual = 0;
  FitRange range;
};

// Nanoseconds by a fit, however far from its samples.
double fitted_ns(const OperatorFit& fit, const CostKey& key);
double fitted_ns(const CollectiveFit& fit, const CostKey& key);

// The latencies among the host's costs.
constexpr std::array kHostLatencies{&HostCosts::launch_latency_ns, &HostCosts::stream_gap_ns,
                                    &HostCosts::event_latency_ns, &HostCosts::wait_latency_ns,
                                    &HostCosts::rendezvous_ns};

// The host of recordings of PyTorch.
struct RecordedHost {
  double relative_time = 1;  // of the catalogue's host times
  std::int64_t ranges = 0;   // recorded ones that it rests on
  bool is_alone = false;     // nothing that was recorded ran on a device
};

// What the driver of an accelerator takes for a segment of memory, each a median.
struct SegmentTimes {
  double alloc_ns = 0, free_ns = 0;
  std::int64_t allocs = 0, frees = 0;  // samples; 0: not seen
};

// How many samples each of the host's costs rests on; what has none is assumed.
struct HostSamples {
  std::array<std::int64_t, kKinds> issue{};
  std::array<std::int64_t, kHostLatencies.size()> latencies{};
};

using MeasuredCosts = std::unordered_map<CostKey, MeasuredCost, CostKeyHash>;

struct ThreadCountCosts {
  int threads = 1;
  MeasuredCosts measured;          // on streams
  MeasuredCosts measured_on_host;  // by the host thread itself, whose memory and caches are others
  std::vector<OperatorFit> operators;
  std::vector<CollectiveFit> collectives;
  HostCosts host;
  HostSamples host_samples;

  const MeasuredCosts& measured_where(bool on_host) const {
    return on_host ? measured_on_host : measured;
  }
  // The operator's fit in that type and place, nullptr without one.
  const OperatorFit* fit_of(const CostKey& key, bool on_host) const;
  // Floating-point operations per nanosecond of the quickest measured product in that type; 0: none.
  double best_rate(DType type) const;
};

// A run the table was fitted to, with what the table predicts for it in hindsight and, where that could
// be tried, what a table fitted to the other runs predicts. Times are without what recording cost.
struct Calibration {
  std::string model;
  std::string plan;   // as TOML
  std::string trace;  // file name
  int ranks = 1;
  int threads = 1;
  std::int64_t measured_ns = 0;     // median step
  double recorder_share = 0;        // of the step as it was recorded, spent on recording
  double slowness = 1;              // how much longer its tasks took than the recordings' mean
  std::int64_t fitted_ns = 0;       // 0: not simulated
  std::int64_t held_out_ns = 0;     // 0: not tried
  double held_out_uncertainty = 0;  // relative standard deviation that the costs stated there
};

// Ranks that share a core slow each other beyond sharing it: caches, switches. By threads per rank
// too, because two numbers of ranks with other threads are other runs.
//
// Whole steps may move the factor by a third. What they miss beyond that is the simulation's fault,
// not the tasks': a factor on every task would carry it to plans that have other tasks. It stays an
// error of the recorded runs, which widens the band, and a warning.
struct Oversubscription {
  static constexpr double kLeastMissed = 0.75, kMaxMissed = 1.33;

  int threads = 1;
  int ranks = 1;
  double factor = 1;
  double missed = 1;  // whole steps as recorded / as their tasks explain them

  bool is_beyond_belief() const { return missed < kLeastMissed || missed > kMaxMissed; }
};

struct CostTable {
  std::string machine_name;        // of the processor or, for accelerators, of the device
  bool is_accelerator = false;     // each rank has a device of its own, and nothing is shared
  int cores = 1;                   // of the machine; unused for accelerators
  double memory_bytes_per_ns = 0;  // 0: no limit was seen
  SegmentTimes segments;           // of accelerators
  std::optional<RecordedHost> pytorch_host;  // that drove them
  std::vector<ThreadCountCosts> regimes;
  std::vector<Oversubscription> crowding;
  std::vector<Calibration> calibration;
  std::int64_t impossible_keys = 0;  // left out: they took less time than the data sheet allows
  double slowness_spread = 0;  // relative standard deviation of the machine's speed between runs
  double band = 0.1;  // a step takes between predicted x exp(-band) and exp(band) with 90 %
  std::optional<RankVariation> variation;  // of accelerators: where several ranks were recorded
  std::optional<DeviceRates> rates;        // fitted to steps whose time alone is known
  double uncertainty_scale =
      1;  // how many times further off than stated uncertain predictions were

  std::string question;  // of what was recorded, as JSON (models/question); empty: unknown

  const ThreadCountCosts* regime(int threads) const;
};

// What predictions by it are off by: its band, which fit_band.hpp made.
ErrorSpread errors_of(const CostTable& table);

std::string to_json(const CostTable& table);

// `file` is used in messages only.
Result<CostTable> parse_cost_table(std::string_view json, const std::string& file);
Result<CostTable> load_cost_table(const std::string& path);

// Whether a file of it could be read: an error names what could not, as load_cost_table would.
Result<void> check_cost_table(const CostTable& table, const std::string& path);

// Written to a temporary name and renamed, so that a full disk leaves no half a file.
Result<void> save_cost_table(const CostTable& table, const std::string& path);

}  // namespace foreshard::simulator
