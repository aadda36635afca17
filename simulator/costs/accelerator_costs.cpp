// Costs by a table fitted to recordings of accelerators, such as PyTorch's. Each rank has a device of
// its own, so nothing is shared. What the recordings do not carry is taken from what is nearest to it:
// a product from other products of its size, what moves bytes from what else moved as many, and the
// rest from the device's data sheet, where the catalogue has it; without one it is unknown. No
// estimate beats the data sheet. What the host does is never priced by what devices did.
#include <algorithm>
#include <cmath>
#include <optional>

#include "models/base/figures.hpp"
#include "models/hardware/device_names.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/data_sheet.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/costs/thread_count_estimates.hpp"

namespace foreshard::simulator {
namespace {

// Relative standard deviation: kernels of one kind differ by a fifth in what they reach of a device.
constexpr double kRelativeError = 0.2;

// Their median is one of the host's costs, whatever a single one of them waited for.
constexpr std::int64_t kEnoughSamples = 10;

// A launch that another one stands for: as long, times `factor`.
struct Relative {
  CostKey key;
  double factor = 1;
};

std::optional<Relative> relative_of(const CostKey& key) {
  CostKey out = key;
  if (is_matmul(key.op)) {
    out.op = Operator::matmul;
    out.dims[3] = 0;
    return key.op == Operator::batched_matmul || key.op == Operator::matmul
               ? std::nullopt
               : std::optional(Relative{out});
  }
  if (key.op == Operator::attention_backward) {
    out.op = Operator::attention;
    return Relative{out, flops(key) / flops(out)};
  }
  const auto half = static_cast<std::int64_t>(bytes_moved(key) / 2);
  if (is_attention(key.op) || is_transfer(key.op) || half <= 0) return {};
  return Relative{{Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {half, half}}};
}

class AcceleratorCosts final : public CostModel {
 public:
  AcceleratorCosts(CostTable table, int ranks, int nodes, const Machine* machine)
      : table_(std::move(table)),
        recorded_(table_.regimes.front()),
        host_(table_.regimes.front().host),
        samples_(table_.regimes.front().host_samples),
        part_(fastest_machine()),
        is_host_alone_(table_.pytorch_host && table_.pytorch_host->is_alone),
        ranks_per_node_(nodes > 0 ? ranks / nodes : 0) {
    if (const auto& variation = table_.variation) {
      const double doubt = 1 / std::sqrt(2.0 * static_cast<double>(variation->ranks - 1));
      slowest_ =
          slowest_of(ranks, std::hypot(variation->between_ranks, variation->between_steps), doubt);
    }
    const auto recorded = machine_reported_as(table_.machine_name);
    if (machine == nullptr && recorded) machine = &*recorded;
    if (machine == nullptr) return;
    part_ = *machine;
    machine_ =
        machine_costs(*machine, ranks, nodes, table_.rates ? &table_.rates->factors : nullptr);
    if (recorded && recorded->name != machine->name) other_device_ = machine->name;
  }

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    if (is_host_alone_ && !place.on_host) return {0, {}, CostSource::measured};
    CostEstimate found = unbounded(key, place);
    found.error *= table_.doubt_scale;
    const bool is_estimate =
        found.source == CostSource::fitted || found.source == CostSource::modelled;
    if (is_estimate && !place.on_host) {
      found.ns = std::max(found.ns, least_ns(key, part_, place.nodes));
    }
    return found;
  }

  // What enough samples of the recordings carry is theirs, the rest the data sheet's.
  EngineOptions engine() const override {
    EngineOptions options;
    if (is_host_alone_) return options;
    if (machine_ == nullptr) {
      options.host = host_;
      options.host.uses_core = false;
    } else {
      options = machine_->engine();
    }
    HostCosts& host = options.host;
    const auto issue = [](auto& of, Kind kind) -> auto& {
      return of[static_cast<std::size_t>(kind)];
    };
    // The host's time for a launch is that of an operator of the framework.
    if (machine_ == nullptr || issue(samples_.issue, Kind::launch) > 0) {
      const std::int64_t launch = issue(host_.issue_ns, Kind::launch);
      issue(host.issue_ns, Kind::launch) = issue(host.issue_ns, Kind::copy) = launch;
      issue(host.issue_ns, Kind::collective) = 2 * launch;
    }
    for (std::size_t kind = 0; kind < host.issue_ns.size(); ++kind) {
      if (samples_.issue[kind] >= kEnoughSamples) host.issue_ns[kind] = host_.issue_ns[kind];
    }
    for (std::size_t i = 0; i < kHostLatencies.size(); ++i) {
      if (samples_.latencies[i] >= kEnoughSamples) {
        host.*kHostLatencies[i] = host_.*kHostLatencies[i];
      }
    }
    return options;
  }

  std::optional<HostPace> pytorch_host() const override {
    if (const auto& host = table_.pytorch_host) {
      return HostPace{host->relative_time, is_host_alone_ ? 0 : host->relative_time};
    }
    return machine_ == nullptr ? std::nullopt : machine_->pytorch_host();
  }

  // Calls to free are rare; without any they are taken to last as long as those that allocate.
  SegmentCosts segments() const override {
    if (is_host_alone_) return {0, 0, CostSource::measured};
    const SegmentTimes& seen = table_.segments;
    if (seen.allocs == 0) return machine_ == nullptr ? SegmentCosts{} : machine_->segments();
    return {std::llround(seen.alloc_ns),
            std::llround(seen.frees > 0 ? seen.free_ns : seen.alloc_ns), CostSource::measured};
  }
  // Recorded fp32 products that are faster than the part's fp32 units ran as TF32.
  double peak_flops_per_ns(DType type) const override {
    if (is_host_alone_) return 0;
    if (machine_ == nullptr) return best_recorded(type);
    const double peak = machine_->peak_flops_per_ns(type);
    const bool is_tf32 = type == DType::fp32 && best_recorded(type) > peak;
    return is_tf32 ? std::max(peak, part_.tf32_flops / 1e9) : peak;
  }
  std::int64_t device_bytes() const override {
    return machine_ == nullptr || is_host_alone_ ? 0 : machine_->device_bytes();
  }
  std::optional<OutsideMemory> outside_allocator(const RankProgram& program,
                                                 const ProgramCosts& counted) const override {
    return machine_ == nullptr ? std::nullopt : machine_->outside_allocator(program, counted);
  }
  int ranks_per_node() const override {
    return machine_ == nullptr ? ranks_per_node_ : machine_->ranks_per_node();
  }
  std::string data_sheet() const override {
    return machine_ == nullptr || is_host_alone_ ? "" : machine_->data_sheet();
  }
  std::string basis(const CostKey& key, const TaskPlace& place) const override {
    const auto nearest = recorded_.nearest(key, place.on_host);
    return nearest || machine_ == nullptr ? basis_text(key, nearest) : machine_->basis(key, place);
  }
  SlowestRank slowest_rank() const override { return slowest_; }
  std::string basis_of_slowest_rank() const override {
    return formatted("the slowest rank computes %.1f %% longer than the median one: recordings of ",
                     100 * (slowest_.factor - 1)) +
           plural(table_.variation->ranks, "rank") + ", " + plural(table_.variation->steps, "step");
  }
  ErrorSpread errors() const override { return errors_of(table_); }

  std::string unknown_device() const override {
    return machine_ == nullptr ? table_.machine_name : "";
  }

  std::vector<std::string> warnings() const override {
    if (is_host_alone_) {
      return {
          "the recordings show no work of a device: times are the host's alone; name the "
          "device with --machine"};
    }
    if (other_device_.empty()) return {};
    return {"the recordings are of " + table_.machine_name + ", not of " + other_device_ +
            "; their costs are used unchanged"};
  }

 private:
  CostEstimate unbounded(const CostKey& key, const TaskPlace& place) const {
    const auto known = recorded_.ask(key, place);
    // What another device did may be beyond this one.
    const bool is_credible = known && known->is_carried &&
                             (known->source != CostSource::measured || place.on_host ||
                              !is_impossible(known->ns, key, part_, place.nodes));
    const double slowest = is_arithmetic(key.op) && !place.on_host ? slowest_.factor : 1;
    if (is_credible) return {known->ns * slowest, {}, known->source, known->error};
    if (const auto relative = place.on_host ? std::nullopt : relative_of(key)) {
      const auto found = recorded_.ask(relative->key, place);
      if (found && found->is_carried) {
        return {found->ns * relative->factor * slowest,
                {},
                CostSource::modelled,
                std::max(found->error, kRelativeError)};
      }
    }
    if (machine_ == nullptr) return {};
    CostEstimate modelled = machine_->estimate(key, place);
    if (known) modelled.ns = std::max(modelled.ns, known->at_least_ns);
    modelled.error = kModelledError;
    modelled.rate =
        Rate::kCount;  // beside recordings, one operator's error says nothing of another's
    return modelled;
  }

  // The best rate that any product of the recordings reached, or its fit goes on at.
  double best_recorded(DType type) const {
    double best = 0;
    for (const auto& [key, cost] : recorded_.regime().measured) {
      if (key.dtype == type && cost.ns > 0) best = std::max(best, flops(key) / cost.ns);
    }
    for (const OperatorFit& fit : recorded_.regime().operators) {
      if (fit.dtype == type && fit.ns_per_flop > 0) best = std::max(best, 1 / fit.ns_per_flop);
    }
    return best;
  }

  CostTable table_;
  ThreadCountEstimates recorded_;
  HostCosts host_;
  HostSamples samples_;
  Machine part_;                        // what bounds the estimates
  std::unique_ptr<CostModel> machine_;  // null for devices that the catalogue lacks
  SlowestRank slowest_;
  std::string other_device_;  // that of the machine, where it is not the recorded one
  bool is_host_alone_;        // of a device that does nothing
  int ranks_per_node_;        // as given by the user; 0: unknown
};

}  // namespace

std::unique_ptr<CostModel> accelerator_costs(CostTable table, int ranks, int nodes,
                                             const Machine* machine) {
  if (table.regimes.empty()) {
    const Machine observed =
        machine != nullptr ? *machine : load_machine(table.rates->machine).value();
    return machine_costs(observed, ranks, nodes, &table.rates->factors);
  }
  if (machine != nullptr && table.pytorch_host && table.pytorch_host->is_alone) {
    const double pace = table.pytorch_host->relative_time;
    return machine_costs(*machine, ranks, nodes, nullptr, HostPace{pace, pace});
  }
  return std::make_unique<AcceleratorCosts>(std::move(table), ranks, nodes, machine);
}

}  // namespace foreshard::simulator
