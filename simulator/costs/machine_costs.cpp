// Costs from data sheets: the device's model for kernels, the network's law for collectives. Everything
// here is "modelled", or "fitted" where runs of the machine corrected its rates.
#include <algorithm>
#include <cmath>
#include <memory>

#include "models/base/figures.hpp"
#include "models/hardware/host_times.hpp"
#include "models/hardware/kernel_rates.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/host_copies.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/device/device_model.hpp"
#include "simulator/network/collective_time.hpp"

namespace foreshard::simulator {
namespace {

// Costs of a step that XLA compiled for TPUs, from the data sheet's: kernels and collectives cost
// what they cost on any machine of the catalogue (machine_costs.cpp), but the host issues one
// program instead of every instruction, nothing asks a driver for memory, and gathers arrive where
// they are used, so that the copies around FSDP's flat buffers are none.
//
// No recording of a TPU stands behind them, nor a model of XLA's schedule: published throughputs of
// MaxText (docs/costs.md) set the rates of catalogue/kernel_rates.csv, and the band is wide.

// A cast in either direction moves the same bytes; that GPUs' kernels widen more slowly than they
// narrow is no fact about XLA's.
CostKey narrowing_cast(DType a, DType b, std::int64_t elements) {
  const bool is_a_narrower = item_size(a) < item_size(b);
  return {Operator::cast, is_a_narrower ? a : b, is_a_narrower ? b : a, a, {elements}};
}

// What is left of a key without flat buffers: of a copy into or out of one nothing, or a cast.
std::optional<CostKey> without_flat_buffers(const CostKey& key) {
  switch (key.op) {
    case Operator::cast: return narrowing_cast(key.dtype, key.dtype2, key.dims[0]);
    case Operator::reduce_scatter_copy_in:
      if (key.dtype == key.dtype2) return std::nullopt;
      return narrowing_cast(key.dtype, key.dtype2, key.dims[0] * key.dims[1]);
    case Operator::all_gather_copy_in:
    case Operator::all_gather_copy_out: return std::nullopt;
    default: return key;
  }
}

class TpuCosts final : public CostModel {
 public:
  // `data_sheet`: the costs of the machine, a TPU. `is_calibrated`: its rates are fitted to runs.
  TpuCosts(std::unique_ptr<CostModel> data_sheet, bool is_calibrated)
      : CostModel(*data_sheet), base_(std::move(data_sheet)) {
    platform.engine = {};
    platform.pytorch_host.reset();
    platform.segments = {0, 0, CostSource::modelled};
    platform.nccl.reset();  // what the runtime keeps to itself is no part of the catalogue's figure
    wording.warnings = {
        "the step on " + wording.data_sheet +
        " rests on the catalogue alone: XLA is taken to fuse as operators \"xla\" do and to gather "
        "one unit ahead, at rates that published throughputs of MaxText show"};
    if (is_calibrated) wording.warnings[0] += ", corrected by the observed runs";
  }

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    const std::optional<CostKey> left = without_flat_buffers(key);
    CostEstimate found = base_->estimate(left.value_or(key), place);
    if (!left) found.ns = 0;
    return found;
  }
  std::unique_ptr<CostModel> with_factors(const RateFactors& factors) const override {
    return base_->with_factors(factors);
  }
  std::string basis(const CostKey& key, const TaskPlace& place) const override {
    return base_->basis(key, place);
  }
  std::string basis(Rate rate) const override { return base_->basis(rate); }

 private:
  std::unique_ptr<CostModel> base_;
};

constexpr double kCopyStartNs = 8000;

// What a collective keeps from the kernels beside it, products and attention their multiprocessors, what moves
// bytes its memory bandwidth, and from other collectives.
Demand demand_of(const CollectiveTime& collective, const DeviceModel& device) {
  Demand demand{};
  const auto set = [&](Part part, double share) {
    demand[static_cast<std::size_t>(part)] = static_cast<float>(std::min(1.0, share));
  };
  const bool runs_on_multiprocessors = collective.choice.algorithm != Algorithm::torus;
  if (runs_on_multiprocessors) {
    set(Part::multiprocessors, collective.choice.channels / device.multiprocessors());
  }
  set(Part::memory, collective.memory_bytes / collective.ns / device.memory_bytes_per_ns());
  set(Part::links, collective.links);
  set(Part::cards, collective.cards);
  set(Part::from_host, collective.host_link);
  set(Part::to_host, collective.host_link);
  return demand;
}

// Standard deviation of the logarithm of a collective's time beyond that of its technology: with each doubling
// of the nodes of which collectives were measured, the law is more of a guess. On 32 nodes of eight H100 a
// gather took 1.25 times as long as predicted (NVIDIA/nccl issue 1218).
double error_of_scale(std::int64_t nodes) {
  constexpr double kMeasuredNodes = 4, kOfADoubling = 0.08;
  return kOfADoubling * std::max(0.0, std::log2(static_cast<double>(nodes) / kMeasuredNodes));
}

class MachineCosts final : public CostModel {
 public:
  MachineCosts(const Machine& machine, int ranks, int nodes, const RateFactors* factors,
               std::optional<HostPace> host)
      : machine_(machine),
        rates_(kernel_rates(machine)),
        device_(machine, factors),
        host_(host),
        is_calibrated_(factors != nullptr),
        network_(machine),
        ranks_(ranks),
        nodes_(nodes),
        ranks_per_node_(nodes > 0 ? std::max(1, ranks / nodes)
                                  : static_cast<int>(machine.gpus_per_node)),
        host_copy_bytes_per_ns_(host_copy_bytes_per_ns(machine, std::min(ranks, ranks_per_node_))),
        host_work_bytes_per_ns_(host_work_bytes_per_ns(machine, std::min(ranks, ranks_per_node_))) {
    describe_platform();
    describe_certainty();
    wording.data_sheet = machine.name;
    wording.slowest_rank =
        formatted("the slowest rank computes %.1f %% longer than the median one: ",
                  100 * (certainty.slowest_rank.factor - 1)) +
        std::string(rates_.part_variation.source);
    if (!is_calibrated_) warn();
  }

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    CostEstimate found;
    found.source = is_calibrated_ ? CostSource::fitted : CostSource::modelled;
    found.rate = rate_at(key, place);
    found.error = device_.factors().deviation(found.rate);
    if (is_transfer(key.op) || place.on_host) {
      const double factor = device_.factors().factor(found.rate);
      if (!place.on_host && !is_host_copy(key.op) && key.dims[1] > 1) {
        CollectiveTime collective = collective_time(key, place);
        found.ns = collective.ns *= factor;
        found.takes = demand_of(collective, device_);
        found.error = std::hypot(found.error, error_of_scale(place.nodes));
      } else {
        found.ns = factor * transfer_ns(key, place);
        if (is_host_copy(key.op) && !place.on_host) {
          const Part way =
              key.op == Operator::copy_host_to_device ? Part::from_host : Part::to_host;
          found.takes[static_cast<std::size_t>(way)] = 1;
        }
      }
      return found;
    }
    found.ns = device_.kernel_ns(key, place.name);
    found.error = std::hypot(found.error, device_.kernel_error(key));
    if (is_arithmetic(key.op)) found.ns *= certainty.slowest_rank.factor;
    found.lacks = found.rate == Rate::memory ? Part::memory : Part::multiprocessors;
    return found;
  }

  std::string basis(const CostKey& key, const TaskPlace& place) const override {
    return "the catalogue's rate: " +
           std::string(kRateNames[static_cast<std::size_t>(rate_at(key, place))]);
  }
  std::string basis(Rate rate) const override {
    const std::string sources = sources_of_rate(rate);
    return is_calibrated_ ? "runs that were observed; before them, " + sources : sources;
  }
  std::unique_ptr<CostModel> with_factors(const RateFactors& factors) const override {
    return machine_costs(machine_, ranks_, nodes_, &factors, host_);
  }

 private:
  void describe_platform() {
    EngineOptions& options = platform.engine;
    const auto ns = [&](Kind kind) -> std::int64_t& {
      return options.host.issue_ns[static_cast<std::size_t>(kind)];
    };
    options.host.issue_ns.fill(100);
    ns(Kind::launch) = machine_.launch_overhead.count();
    ns(Kind::copy) = machine_.launch_overhead.count();
    ns(Kind::collective) = 2 * machine_.launch_overhead.count();
    ns(Kind::record_event) = ns(Kind::wait_event) = 500;
    ns(Kind::host_wait) = 1000;
    for (std::int64_t& issue : options.host.issue_ns) issue = slowed(static_cast<double>(issue));
    options.host.launch_latency_ns = 2000;
    options.host.stream_gap_ns = 800;
    options.host.event_latency_ns = 1500;
    options.host.wait_latency_ns = 5000;

    const double pace = relative_host_time(machine_.id) * device_.factors().factor(Rate::host);
    platform.pytorch_host = host_ ? host_ : HostPace{pace, pace};
    // Orders of magnitude of cudaMalloc and cudaFree of large segments.
    platform.segments = {300'000, 400'000, CostSource::modelled};
    for (const DType type : kDTypes) {
      platform.peak_flops_per_ns[static_cast<std::size_t>(type)] = machine_.peak_flops(type) / 1e9;
    }
    platform.device_bytes = machine_.memory.count;
    platform.nccl = network_.nccl();
    platform.ranks_per_node = ranks_per_node_;
  }

  void describe_certainty() {
    certainty.factors = device_.factors();
    certainty.slowest_rank =
        slowest_of(ranks_, rates_.part_variation.value, rates_.part_variation.spread);
    ErrorSpread& spread = certainty.errors;
    spread = held_out_spread(is_calibrated_ ? CostWay::observed : CostWay::catalogue);
    if (is_calibrated_) {
      spread.beyond = device_.factors().unexplained;
      spread.beyond_name = "(contradiction)";
      spread.beyond_basis = "what the observed runs differ by from any rates of the machine";
    } else {
      spread.beyond = rates_.unverified.value;
      spread.beyond_name = "(unverified GPU)";
      spread.beyond_basis = rates_.unverified.source;
    }
  }

  void warn() {
    std::vector<std::string>& all = wording.warnings;
    all.push_back("times are modelled from the data sheet of " + machine_.name +
                  (host_ ? "; of recordings, only the host's times were used"
                         : "; no recording of this machine was used"));
    if (!machine_.generation.empty() && !is_known_generation(machine_.generation)) {
      std::string known;
      for (const std::string& name : known_generations())
        known += (known.empty() ? "" : ", ") + name;
      all.push_back("the generation of " + machine_.name + ", \"" + machine_.generation +
                    "\", is none of those whose kernels are known (" + known +
                    "): the usual shares of a data sheet are taken");
    }
    if (machine_.bf16_flops <= 0) {
      all.push_back(machine_.name + " has no rate for bf16: such products take as long as in fp32");
    }
  }

  static Rate rate_at(const CostKey& key, const TaskPlace& place) {
    if (place.on_host) return Rate::host;
    return is_collective(key.op) && place.nodes > 1 ? Rate::network : rate_of(key.op);
  }

  std::string sources_of_rate(Rate rate) const {
    const auto measured = [](const std::string& technology) {
      return "measured collectives over " + technology + " and its like (interconnect.csv)";
    };
    switch (rate) {
      case Rate::link: return measured(machine_.link.empty() ? "PCIe" : machine_.link);
      case Rate::network: return measured(network_.network());
      case Rate::copy: return "the host link's data sheet";
      default: return sources_of(rates_, rate);
    }
  }

  // The host's time for what takes it `ns` by the catalogue.
  std::int64_t slowed(double ns) const {
    return std::llround(ns * device_.factors().factor(Rate::host));
  }

  double transfer_ns(const CostKey& key, const TaskPlace& place) const {
    if (place.on_host) return bytes_moved(key) / host_work_bytes_per_ns_;
    if (is_host_copy(key.op)) {
      return kCopyStartNs + payload_bytes(key) / host_copy_bytes_per_ns_;
    }
    return device_.kernel_ns(key);  // a copy on the device
  }

  CollectiveTime collective_time(const CostKey& key, const TaskPlace& place) const {
    const GroupPlace group{key.dims[1], place.nodes, place.fewest_on_a_node, ranks_per_node_};
    return network_.time(key.op, payload_bytes(key), group);
  }

  Machine machine_;
  KernelRates rates_;
  DeviceModel device_;
  std::optional<HostPace> host_;  // as it was recorded
  bool is_calibrated_;            // by runs
  CollectiveNetwork network_;
  int ranks_, nodes_;  // as they were given
  int ranks_per_node_;
  double host_copy_bytes_per_ns_;  // of one device, while all of its host copy
  double host_work_bytes_per_ns_;  // of one rank's work on the host
};

}  // namespace

std::unique_ptr<CostModel> machine_costs(const Machine& machine, int ranks, int nodes,
                                         const RateFactors* factors, std::optional<HostPace> host) {
  auto costs = std::make_unique<MachineCosts>(machine, ranks, nodes, factors, host);
  if (is_tpu(machine)) return std::make_unique<TpuCosts>(std::move(costs), factors != nullptr);
  return costs;
}

}  // namespace foreshard::simulator
