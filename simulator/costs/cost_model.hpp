// The cost of a task, from the best available source.
//
// Three sources of costs: a table fitted to recordings (TableCosts), a machine of the hardware
// catalogue (MachineCosts) and, when neither is given, a default CPU model
// (processor_costs). Every cost carries the kind of its source (cost_source.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/hardware.hpp"
#include "models/program/cost_source.hpp"
#include "models/program/operators.hpp"
#include "models/program/step_program.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/costs/held_out_errors.hpp"
#include "simulator/device/rate_factors.hpp"
#include "simulator/device/stragglers.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/host/pytorch_host.hpp"
#include "simulator/network/nccl_planner.hpp"

namespace foreshard::simulator {

struct CostEstimate {
  double ns = 0;
  std::array<float, kResources> uses{};
  CostSource source = CostSource::unknown;
  double error = 0;  // standard deviation, relative, beyond what the model's errors() cover
  Demand takes{};    // of collectives: see TaskCost
  Part lacks = Part::kCount;  // of kernels
  // The limit of a data sheet that it rests on; the error includes that of its factor.
  Rate rate = Rate::kCount;
};

// Where a task runs: whether the host does it itself, and for collectives over how many nodes the
// ranks of the group are spread, and how many of them a node holds at least; 0: spread evenly; and
// what the framework calls it, "" for Foreshard's own operators.
struct TaskPlace {
  bool on_host = false;
  std::int64_t nodes = 1;
  std::int64_t fewest_on_a_node = 0;
  std::string_view name = {};
};

// What the device's driver takes for a segment of memory: cudaMalloc and cudaFree.
struct SegmentCosts {
  std::int64_t alloc_ns = 0;
  std::int64_t free_ns = 0;
  CostSource source = CostSource::unknown;
};

// What a step runs on.
struct Platform {
  EngineOptions engine;                  // all but the steps and the stop
  std::optional<HostPace> pytorch_host;  // nothing: what it takes is part of the device's time
  // Where memory is the host's own there is no driver: what it takes is part of the time of
  // an allocation.
  SegmentCosts segments{0, 0, CostSource::fitted};
  // Floating-point operations one rank can do at best, by type; 0: unknown.
  std::array<double, kDTypes.size()> peak_flops_per_ns{};
  double peak(DType type) const { return peak_flops_per_ns[static_cast<std::size_t>(type)]; }
  std::int64_t device_bytes = 0;   // of one rank, where the machine has a limit; 0: unlimited
  std::optional<NcclSystem> nccl;  // nothing: what the allocator never gets is unknown
  int ranks_per_node = 0;          // 0: unknown, or no nodes
};

// How well costs are known.
struct Certainty {
  std::optional<RateFactors> factors;  // of the data sheet's limits; nothing: no cost rests on them
  // What steps are off by though all of their costs were known; costs that are not add to it.
  ErrorSpread errors;
  // By how much the slowest of the ranks lengthens what computes; the costs include it.
  SlowestRank slowest_rank;
};

// What answers say of them.
struct Wording {
  std::string data_sheet;      // the machine of the catalogue that answers what nothing else does
  std::string unknown_device;  // one without a data sheet: what was not measured is unknown
  std::string slowest_rank;    // what that rests on
  std::vector<std::string> warnings;  // such as that the costs are of other settings
};

struct CostModel {
  Platform platform;
  Certainty certainty;
  Wording wording;

  virtual ~CostModel() = default;

  virtual CostEstimate estimate(const CostKey& key, const TaskPlace& place) const = 0;
  // The same with other factors; nullptr: they are not all that its costs rest on.
  virtual std::unique_ptr<CostModel> with_factors(const RateFactors&) const { return nullptr; }
  // In words, what a cost rests on, and what the times rest on that one limit decides.
  virtual std::string basis(const CostKey&, const TaskPlace&) const { return ""; }
  virtual std::string basis(Rate) const { return ""; }

  // nullptr: no cost rests on them.
  const RateFactors* factors() const { return certainty.factors ? &*certainty.factors : nullptr; }
};

// What no run lasts: thirty years, which 64 bits of nanoseconds hold several times.
constexpr double kForeverNs = 1e18;

// Costs of everything a program does, by cost_index; entries that no instruction uses are 0, and
// none is longer than forever. `memory`: costs that are no longer wanted, whose memory these take over.
struct ProgramCosts {
  std::vector<TaskCost> costs;
  std::vector<CostSource> sources;
  std::vector<double> errors;
  std::vector<Rate> rates;                        // kCount: on none
  std::vector<std::vector<std::int64_t>> counts;  // by program: how often each is paid
  std::vector<std::int32_t> operators;            // RankProgram::operators of the first to pay it
};
// The last two alone, which follow from the program.
ProgramCosts counted_costs(const RankProgram& program, ProgramCosts memory = {});
// All of them, of a program whose costs are counted.
ProgramCosts priced_costs(const RankProgram& program, const CostModel& model, ProgramCosts counted);

// Everything that a run of so many steps pays for, set-up and closing programs counted, one after the
// other.
double work_ns(const RankProgram& program, const ProgramCosts& costs, std::int64_t steps);

// Costs by a fitted table, for a run of so many ranks. Threads per rank: cores / ranks, at least 1,
// as `train` sets them by default. For accelerators: `nodes` 0: as few as hold them;
// `machine` answers what the recordings did not show, and is the recorded device where it is null.
std::unique_ptr<CostModel> table_costs(CostTable table, int ranks, int nodes = 0,
                                       const Machine* machine = nullptr);

// The part of table_costs for accelerators. A table of observed steps alone rests on their machine,
// which load_cost_table has looked for, where `machine` is null.
std::unique_ptr<CostModel> accelerator_costs(CostTable table, int ranks, int nodes,
                                             const Machine* machine);

// A machine of the catalogue, with so many of its devices; `nodes` 0: as few as hold them. `factors`:
// what was fitted to runs; `host`: how fast a recording showed its host to be.
std::unique_ptr<CostModel> machine_costs(const Machine& machine, int ranks, int nodes,
                                         const RateFactors* factors = nullptr,
                                         std::optional<HostPace> host = {});

// This machine when nothing is known about it but its number of cores.
std::unique_ptr<CostModel> processor_costs(int cores, int ranks);

constexpr int threads_per_rank(int cores, int ranks) {
  return cores > ranks ? cores / ranks : 1;
}

// What those threads have to run on: less than a core each where ranks outnumber cores.
constexpr double cores_per_rank(int cores, int ranks) {
  return cores > ranks ? threads_per_rank(cores, ranks) : static_cast<double>(cores) / ranks;
}

}  // namespace foreshard::simulator
