// Costs from data sheets: the device's model for kernels, the network's law for collectives. Everything
// here is "modelled", or "fitted" where runs of the machine corrected its rates.
#include <algorithm>
#include <cmath>

#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/host_copies.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/costs/outside_memory.hpp"
#include "simulator/costs/tpu_costs.hpp"
#include "simulator/device/device_model.hpp"
#include "simulator/network/collective_time.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kCopyStartNs = 8000;
constexpr double kHostBytesPerNs = 20;  // what a rank's threads move in its node's main memory
// Beyond what its kernels' rates leave open: how far runs of one plan on one kind of machine differ, and
// what the model leaves out.
constexpr double kMachineBand = 0.10;
constexpr double kCalibratedBand = 0.06;  // of the machine whose runs taught its rates

class MachineCosts final : public CostModel {
 public:
  MachineCosts(const Machine& machine, int ranks, int nodes, const RateFactors* factors)
      : machine_(machine),
        device_(machine, factors),
        is_calibrated_(factors != nullptr),
        network_(machine),
        ranks_per_node_(nodes > 0 ? std::max(1, ranks / nodes)
                                  : static_cast<int>(machine.gpus_per_node)),
        host_copy_bytes_per_ns_(host_copy_bytes_per_ns(machine, std::min(ranks, ranks_per_node_))),
        host_work_bytes_per_ns_(
            host_work_bytes_per_ns(machine, std::min(ranks, ranks_per_node_), kHostBytesPerNs)),
        link_bytes_per_ns_(
            (ranks > ranks_per_node_ ? machine.network_bandwidth : machine.link_bandwidth) / 1e9) {}

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    CostEstimate found;
    found.source = is_calibrated_ ? CostSource::fitted : CostSource::modelled;
    found.rate = place.on_host ? Rate::host : rate_of(key.op);
    RateVector alone{};
    alone[static_cast<std::size_t>(found.rate)] = 1;
    found.error = rate_error(alone);
    if (is_transfer(key.op) || place.on_host) {
      found.ns = device_.factors().factor(found.rate) * transfer_ns(key, place);
      return found;
    }
    found.ns = device_.kernel_ns(key, place.name);
    found.contended = device_.beside_collective(key.op, link_bytes_per_ns_);
    return found;
  }

  EngineOptions engine() const override {
    EngineOptions options;
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
    return options;
  }

  // An operator, with its modules and its node of autograd, for each launch; a hook of FSDP for each
  // range.
  void run_pytorch(HostCosts& host) const override {
    const KernelRates& rates = kernel_rates(machine_.generation);
    const auto set = [&](Kind kind, const KernelRate& us) {
      host.issue_ns[static_cast<std::size_t>(kind)] = slowed(1000 * us.value);
    };
    for (const Kind kind : {Kind::launch, Kind::copy, Kind::collective}) {
      set(kind, rates.pytorch_launch_us);
    }
    set(Kind::range_begin, rates.pytorch_hook_us);
  }

  // Orders of magnitude of cudaMalloc and cudaFree of large segments.
  SegmentCosts segments() const override { return {300'000, 400'000, CostSource::modelled}; }

  double peak_flops_per_ns(DType type) const override { return machine_.peak_flops(type) / 1e9; }
  std::int64_t device_bytes() const override { return machine_.memory.count; }
  std::optional<OutsideMemory> outside_allocator(const RankProgram& program) const override {
    return outside_memory(network_.nccl(), program, ranks_per_node_);
  }
  std::string data_sheet() const override { return machine_.name; }
  int ranks_per_node() const override { return ranks_per_node_; }
  double band() const override { return is_calibrated_ ? kCalibratedBand : kMachineBand; }
  double rate_error(const RateVector& shares) const override {
    return device_.factors().error(shares);
  }

  std::vector<std::string> warnings() const override {
    if (is_calibrated_) return {};
    return {"times are modelled from the data sheet of " + machine_.name +
            "; no recording of this machine was used"};
  }

 private:
  // The host's time for what takes it `ns` by the catalogue.
  std::int64_t slowed(double ns) const {
    return std::llround(ns * device_.factors().factor(Rate::host));
  }

  double transfer_ns(const CostKey& key, const TaskPlace& place) const {
    if (place.on_host) return bytes_moved(key) / host_work_bytes_per_ns_;
    if (is_host_copy(key.op)) {
      return kCopyStartNs + payload_bytes(key) / host_copy_bytes_per_ns_;
    }
    if (key.dims[1] <= 1) return device_.kernel_ns(key);  // a copy on the device
    const GroupPlace group{key.dims[1], place.nodes, place.fewest_on_a_node, ranks_per_node_};
    return network_.time(key.op, payload_bytes(key), group).ns;
  }

  Machine machine_;
  DeviceModel device_;
  bool is_calibrated_;  // by runs
  CollectiveNetwork network_;
  int ranks_per_node_;
  double host_copy_bytes_per_ns_;  // of one device, while all of its host copy
  double host_work_bytes_per_ns_;  // of one rank's work on the host
  double link_bytes_per_ns_;       // of one device, while a collective runs
};

}  // namespace

std::unique_ptr<CostModel> machine_costs(const Machine& machine, int ranks, int nodes,
                                         const RateFactors* factors) {
  auto costs = std::make_unique<MachineCosts>(machine, ranks, nodes, factors);
  if (is_tpu(machine)) return tpu_costs(std::move(costs), machine, factors != nullptr);
  return costs;
}

}  // namespace foreshard::simulator
