// What was learnt about a machine from recordings of it, as kept in a cost file (costs.json).
//
// A regime is a number of threads per rank: a kernel that owns one thread and one that owns two are
// different things, so every table exists once per regime. Within a regime:
//
//   measured     median processor time of every cost key that was seen
//   operators    for each operator and dtype    time = overhead + flops x a + bytes x b
//   collectives  for each of them, dtype, group time = a + c sqrt(bytes) + b x bytes
//   host         what each kind of instruction costs the host thread, and the latencies of threads
//
// Times are those of a task that nothing else slows down; what running together costs is kept apart
// in `memory_bytes_per_ns` (the machine's memory bandwidth that tasks share) and in `crowding`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/error.hpp"
#include "models/operators.hpp"
#include "simulator/engine.hpp"

namespace foreshard::simulator {

struct MeasuredCost {
  double ns = 0;
  double cores = 1;   // processors kept busy meanwhile
  double spread = 0;  // half the interquartile range, relative to ns
  std::int64_t count = 0;
};

struct OperatorFit {
  Operator op = Operator::kCount;
  DType dtype = DType::fp32;
  bool on_host = false;
  double overhead_ns = 0;
  double ns_per_flop = 0;
  double ns_per_byte = 0;
  double cores = 1;
  double residual = 0;  // root mean square relative error over its samples
  std::int64_t samples = 0;
};

struct CollectiveFit {
  Operator op = Operator::kCount;
  DType dtype = DType::fp32;
  std::int64_t group = 1;  // ranks
  double base_ns = 0;
  double ns_per_root_byte = 0;
  double ns_per_byte = 0;
  double residual = 0;
  std::int64_t samples = 0;
};

using MeasuredCosts = std::unordered_map<CostKey, MeasuredCost, CostKeyHash>;

struct Regime {
  int threads = 1;
  MeasuredCosts measured;          // on streams
  MeasuredCosts measured_on_host;  // by the host thread itself, whose memory and caches are others
  std::vector<OperatorFit> operators;
  std::vector<CollectiveFit> collectives;
  HostCosts host;
};

// A run the table was fitted to, with what the table says of it in hindsight and, where that could
// be tried, what a table fitted to the other runs says of it.
struct Calibration {
  std::string model;
  std::string plan;   // as TOML
  std::string trace;  // file name
  int ranks = 1;
  int threads = 1;
  std::int64_t measured_ns = 0;  // median step
  std::int64_t fitted_ns = 0;    // 0: not simulated
  std::int64_t held_out_ns = 0;  // 0: not tried
};

// Ranks that share a core slow each other beyond sharing it: caches, switches.
struct Crowding {
  int ranks = 1;
  double factor = 1;
};

struct CostTable {
  std::string cpu_model;        // or the device's name
  bool is_accelerator = false;  // each rank has a device of its own, and nothing is shared
  int cores = 1;
  double memory_bytes_per_ns = 0;  // 0: no limit was seen
  std::vector<Regime> regimes;
  std::vector<Crowding> crowding;
  std::vector<Calibration> calibration;
  double band = 0.1;  // a step takes predicted x (1 +- band) with a probability of 90 %

  const Regime* regime(int threads) const;
  // The regime of that many threads or, where it was not recorded, of the nearest number.
  const Regime* nearest_regime(int threads) const;
};

std::string to_json(const CostTable& table);

// `file` is used in messages only.
Result<CostTable> parse_cost_table(std::string_view json, const std::string& file);
Result<CostTable> load_cost_table(const std::string& path);

// Written to a temporary name and renamed, so that a full disk leaves no half a file.
Result<void> save_cost_table(const CostTable& table, const std::string& path);

}  // namespace foreshard::simulator
