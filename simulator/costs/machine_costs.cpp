// Costs from data sheets: a roofline for kernels and NCCL's planner for collectives. Everything here
// is "modelled"; the efficiencies are what is commonly reached, not what anyone measured on the
// machine in question.
#include <algorithm>

#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/outside_memory.hpp"
#include "simulator/network/collective_time.hpp"

namespace foreshard::simulator {
namespace {

// Shares of the vendor's peak that good kernels reach at the sizes of training.
constexpr double kMatmulEfficiency = 0.70;     // where no measured peak is published
constexpr double kMatmulOfMeasured = 0.80;     // of the best matrix product anyone reports
constexpr double kAttentionEfficiency = 0.45;  // fused, forward
constexpr double kAttentionBackwardEfficiency = 0.38;
constexpr double kMemoryEfficiency = 0.85;
constexpr double kHostLinkEfficiency = 0.85;
constexpr double kKernelFloorNs = 2500;  // shortest time of any kernel
constexpr double kCopyStartNs = 8000;
constexpr double kHostBytesPerNs = 20;  // a rank's share of its node's main memory
constexpr double kMachineBand = 0.35;

class MachineCosts final : public CostModel {
 public:
  MachineCosts(const Machine& machine, int ranks, int nodes)
      : machine_(machine),
        network_(machine),
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
  SegmentCosts segments() const override { return {300'000, 400'000, CostSource::modelled}; }

  double peak_flops_per_ns(DType type) const override { return machine_.peak_flops(type) / 1e9; }
  std::int64_t device_bytes() const override { return machine_.memory.count; }
  std::optional<OutsideMemory> outside_allocator(const RankProgram& program) const override {
    return outside_memory(network_.nccl(), program, ranks_per_node_);
  }
  std::string data_sheet() const override { return machine_.name; }
  int ranks_per_node() const override { return ranks_per_node_; }
  double band() const override { return kMachineBand; }

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
        return network_
            .time(key.op, static_cast<double>(key.dims[0]),
                  {key.dims[1], place.nodes, place.fewest_on_a_node, ranks_per_node_})
            .ns;
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
  CollectiveNetwork network_;
  int ranks_per_node_;
};

}  // namespace

std::unique_ptr<CostModel> machine_costs(const Machine& machine, int ranks, int nodes) {
  return std::make_unique<MachineCosts>(machine, ranks, nodes);
}

}  // namespace foreshard::simulator
