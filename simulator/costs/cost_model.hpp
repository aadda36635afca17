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
#include "simulator/costs/outside_memory.hpp"
#include "simulator/device/rate_factors.hpp"
#include "simulator/device/stragglers.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/host/pytorch_host.hpp"

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

class CostModel {
 public:
  virtual ~CostModel() = default;

  virtual CostEstimate estimate(const CostKey& key, const TaskPlace& place) const = 0;

  // Everything but the steps and the stop: host costs, capacities, how ranks are simulated.
  virtual EngineOptions engine() const = 0;
  // How fast a host is that runs PyTorch; nothing: what it takes is part of the device's time.
  virtual std::optional<HostPace> pytorch_host() const { return {}; }

  // Where memory is the host's own there is no driver: what it takes is part of the time of
  // an allocation.
  virtual SegmentCosts segments() const { return {0, 0, CostSource::fitted}; }

  // Floating-point operations per nanosecond one rank can do at best; 0: unknown.
  virtual double peak_flops_per_ns(DType type) const = 0;

  // Bytes of one rank's device where the machine has a limit; 0: unlimited.
  virtual std::int64_t device_bytes() const { return 0; }
  // What of those the allocator never gets, for a rank that runs this program, of which it is counted
  // how often it pays each cost; nothing: unknown.
  virtual std::optional<OutsideMemory> outside_allocator(const RankProgram&,
                                                         const ProgramCosts&) const {
    return {};
  }
  // The device that has no data sheet here, so that what was not measured is unknown; "": none.
  virtual std::string unknown_device() const { return ""; }
  // The machine whose data sheet answers what nothing else does; "": none of the catalogue.
  virtual std::string data_sheet() const { return ""; }
  virtual int ranks_per_node() const = 0;

  // How well the limits of the data sheet are known; nullptr: no cost rests on them.
  virtual const RateFactors* rate_factors() const { return nullptr; }
  // The same with other factors; nullptr: they are not all that its costs rest on.
  virtual std::unique_ptr<CostModel> with_factors(const RateFactors&) const { return nullptr; }

  // What steps are off by though all of their costs were known; costs that are not add to it.
  virtual ErrorSpread errors() const = 0;

  // By how much the slowest of the ranks lengthens what computes; the costs include it.
  virtual SlowestRank slowest_rank() const { return {}; }
  // In words, what that rests on.
  virtual std::string basis_of_slowest_rank() const { return ""; }

  // In words, what a cost rests on, and what the times rest on that one limit decides.
  virtual std::string basis(const CostKey&, const TaskPlace&) const { return ""; }
  virtual std::string basis(Rate) const { return ""; }

  // Warnings about these costs, such as that they are of other settings.
  virtual std::vector<std::string> warnings() const { return {}; }
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
// what runs have taught about it; `host`: how fast a recording showed its host to be.
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
