// Costs from data sheets: a roofline for kernels and NCCL's planner for collectives. Everything here
// is "modelled"; the efficiencies are what is commonly reached, not what anyone measured on the
// machine in question.
#include <algorithm>
#include <charconv>

#include "simulator/cost_model.hpp"
#include "simulator/nccl_planner.hpp"

namespace foreshard::simulator {
namespace {

// Shares of the vendor's peak that good kernels reach at the sizes of training.
constexpr double kMatmulEfficiency = 0.70;     // where nobody has published a measured peak
constexpr double kMatmulOfMeasured = 0.80;     // of the best matrix product anyone reports
constexpr double kAttentionEfficiency = 0.45;  // fused, forward
constexpr double kAttentionBackwardEfficiency = 0.38;
constexpr double kMemoryEfficiency = 0.85;
constexpr double kHostLinkEfficiency = 0.85;
constexpr double kKernelFloorNs = 2500;  // shortest time of any kernel
constexpr double kCopyStartNs = 8000;
constexpr double kCollectiveStartNs =
    20000;                              // what published small collectives take above the planner
constexpr double kHostBytesPerNs = 20;  // a rank's share of its node's main memory
constexpr double kModelledBand = 0.35;

NcclSystem nccl_system(const Machine& machine) {
  NcclSystem system;
  const std::string& capability = machine.compute_capability;
  int major = 9;
  std::from_chars(capability.data(), capability.data() + capability.size(), major);
  system.generation = major >= 10  ? GpuGeneration::blackwell
                      : major >= 9 ? GpuGeneration::hopper
                      : major >= 8 ? GpuGeneration::ampere
                                   : GpuGeneration::volta;
  // A ring reaches 80 % of the links' figure on every generation with switches.
  constexpr double kRingOfLink = 0.8, kRingOfPcie = 0.7;
  const double link = machine.link_bandwidth / 1e9;
  system.has_nvlink = link > 0;
  const double ring = link > 0 ? kRingOfLink * link : kRingOfPcie * machine.host_bandwidth / 1e9;
  system.channels = system.generation == GpuGeneration::blackwell ? 16 : link > 0 ? 12 : 2;
  system.channel_gb_s = ring / system.channels;
  system.has_nvls = system.has_nvlink && system.generation >= GpuGeneration::hopper;
  system.nvls_channels = 8;
  system.nvls_channel_gb_s = system.generation == GpuGeneration::blackwell ? 80 : 40;
  system.gpus_per_node = static_cast<int>(machine.gpus_per_node);
  system.node_nic_gb_s =
      machine.network_bandwidth / 1e9 * static_cast<double>(machine.gpus_per_node);
  return system;
}

class MachineCosts final : public CostModel {
 public:
  MachineCosts(const Machine& machine, int ranks, int nodes)
      : machine_(machine),
        nccl_(nccl_system(machine)),
        ranks_per_node_(nodes > 0 ? std::max(1, ranks / nodes)
                                  : static_cast<int>(machine.gpus_per_node)) {}

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    return {time_ns(key, place), {}, CostSource::modelled};
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
    options.host.launch_latency_ns = 2000;
    options.host.stream_gap_ns = 800;
    options.host.event_latency_ns = 1500;
    options.host.wait_latency_ns = 5000;
    return options;
  }

  // Orders of magnitude of cudaMalloc and cudaFree of large segments.
  std::int64_t segment_alloc_ns() const override { return 300'000; }
  std::int64_t segment_free_ns() const override { return 400'000; }

  double peak_flops_per_ns(DType type) const override { return machine_.peak_flops(type) / 1e9; }
  std::int64_t device_bytes() const override { return machine_.memory.count; }
  int ranks_per_node() const override { return ranks_per_node_; }
  double band() const override { return kModelledBand; }

  std::vector<std::string> warnings() const override {
    return {"times are modelled from the data sheet of " + machine_.name +
            "; no recording of this machine was used"};
  }

 private:
  double time_ns(const CostKey& key, const TaskPlace& place) const {
    const double bytes = bytes_moved(key);
    const double bandwidth = machine_.memory_bandwidth / 1e9 * kMemoryEfficiency;
    if (place.on_host) return bytes / kHostBytesPerNs;
    switch (key.op) {
      case Operator::all_gather:
      case Operator::reduce_scatter:
      case Operator::all_reduce:
        if (key.dims[1] <= 1) return kKernelFloorNs + bytes / bandwidth;
        return kCollectiveStartNs + nccl_time_ns(nccl_, key.op, static_cast<double>(key.dims[0]),
                                                 key.dims[1], place.nodes);
      case Operator::copy_host_to_device:
      case Operator::copy_device_to_host:
        return kCopyStartNs + static_cast<double>(key.dims[0]) /
                                  (machine_.host_bandwidth / 1e9 * kHostLinkEfficiency);
      default: break;
    }
    const double compute = flops(key) / (machine_.peak_flops(key.dtype) / 1e9 * efficiency(key));
    return kKernelFloorNs + std::max(compute, bytes / bandwidth);
  }

  double efficiency(const CostKey& key) const {
    switch (key.op) {
      case Operator::attention: return kAttentionEfficiency;
      case Operator::attention_backward: return kAttentionBackwardEfficiency;
      case Operator::matmul:
      case Operator::matmul_input_gradient:
      case Operator::matmul_weight_gradient:
        if (key.dtype == DType::bf16 && machine_.measured_bf16_flops > 0) {
          return kMatmulOfMeasured * machine_.measured_bf16_flops / machine_.peak_flops(key.dtype);
        }
        return kMatmulEfficiency;
      default: return 1.0;  // bandwidth decides
    }
  }

  Machine machine_;
  NcclSystem nccl_;
  int ranks_per_node_;
};

}  // namespace

std::unique_ptr<CostModel> machine_costs(const Machine& machine, int ranks, int nodes) {
  return std::make_unique<MachineCosts>(machine, ranks, nodes);
}

}  // namespace foreshard::simulator
