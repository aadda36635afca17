// A default CPU model that depends only on the number of cores: figures that any server core
// of the last decade reaches. They are there so that `predict` answers something before the first
// recording, and are marked "modelled".
#include <algorithm>

#include "models/base/statistics.hpp"
#include "simulator/costs/cost_model.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kFlopsPerNsAndCore = 30;  // fp32 matrix products with 256-bit vectors
constexpr double kBytesPerNsAndCore = 6;
constexpr double kBytesPerNs = 20;  // of the whole machine
constexpr double kOverheadNs = 2000;
constexpr double kCollectiveOverheadNs = 30'000;
constexpr double kProcessorError = 0.36;  // standard deviation, relative

class ProcessorCosts final : public CostModel {
 public:
  ProcessorCosts(int cores, int ranks) : threads_(threads_per_rank(cores, ranks)) {
    EngineOptions& options = platform.engine;
    options.shares = true;
    options.simulated = Simulated::all_ranks;
    options.capacities[static_cast<std::size_t>(Resource::cores)] = cores;
    options.capacities[static_cast<std::size_t>(Resource::memory)] = kBytesPerNs;
    options.host.issue_ns.fill(100);
    options.host.issue_ns[static_cast<std::size_t>(Kind::launch)] = 400;
    options.host.issue_ns[static_cast<std::size_t>(Kind::collective)] = 500;
    options.host.uses_core = true;
    options.host.launch_latency_ns = options.host.event_latency_ns = 10'000;
    options.host.wait_latency_ns = 10'000;
    options.host.stream_gap_ns = 300;
    platform.segments.source = CostSource::modelled;
    platform.peak_flops_per_ns.fill(kFlopsPerNsAndCore * cores_per_rank(cores, ranks));
    certainty.errors = {kProcessorError, kNinetyPercent, "assumed: no recording of this machine"};
    wording.warnings = {
        "times are estimated from the number of cores; `foreshard fit` measures them from "
        "recordings"};
  }

  CostEstimate estimate(const CostKey& key, const TaskPlace&) const override {
    const double bytes = bytes_moved(key);
    CostEstimate result;
    result.source = CostSource::modelled;
    const double compute = flops(key) / (kFlopsPerNsAndCore * threads_);
    result.ns = (is_collective(key.op) ? kCollectiveOverheadNs : kOverheadNs) +
                std::max(compute, bytes / kBytesPerNsAndCore);
    result.uses[static_cast<std::size_t>(Resource::cores)] =
        static_cast<float>(flops(key) > bytes ? threads_ : 1);
    result.uses[static_cast<std::size_t>(Resource::memory)] = static_cast<float>(bytes / result.ns);
    return result;
  }

 private:
  int threads_;
};

}  // namespace

std::unique_ptr<CostModel> processor_costs(int cores, int ranks) {
  return std::make_unique<ProcessorCosts>(cores, ranks);
}

}  // namespace foreshard::simulator
