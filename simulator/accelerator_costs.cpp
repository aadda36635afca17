// Costs by a table fitted to recordings of accelerators, such as PyTorch's. Each rank has a device of
// its own, so nothing is shared. What the recordings do not show is taken from what is nearest to it:
// a product from other products of its size, what moves bytes from what else moved as many, and the
// rest from the device's data sheet, where the catalogue has it.
#include <algorithm>
#include <optional>

#include "models/device_names.hpp"
#include "simulator/cost_model.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kRelativeError = 0.2;  // standard deviation, relative
constexpr double kModelledError = 0.3;

bool is_known(const CostEstimate& estimate) {
  return estimate.source == CostSource::measured || estimate.source == CostSource::fitted;
}

bool is_copy(Operator op) {
  return op == Operator::copy_host_to_device || op == Operator::copy_device_to_host;
}

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
  if (is_attention(key.op) || is_collective(key.op) || is_copy(key.op) || half <= 0) return {};
  return Relative{{Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {half, half}}};
}

class AcceleratorCosts final : public CostModel {
 public:
  AcceleratorCosts(std::unique_ptr<CostModel> measured, const CostTable& table, int ranks,
                   int nodes, const Machine* machine)
      : measured_(std::move(measured)),
        device_(table.cpu_model),
        host_(table.regimes.front().host) {
    const auto recorded = machine_reported_as(device_);
    if (machine == nullptr && recorded) machine = &*recorded;
    if (machine == nullptr) return;
    machine_ = machine_costs(*machine, ranks, nodes);
    if (recorded && recorded->name != machine->name) other_device_ = machine->name;
  }

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    CostEstimate found = without_uses(measured_->estimate(key, place));
    if (is_known(found)) return found;
    if (const auto relative = place.on_host ? std::nullopt : relative_of(key)) {
      found = without_uses(measured_->estimate(relative->key, place));
      if (is_known(found)) {
        return {found.ns * relative->factor,
                {},
                CostSource::modelled,
                std::max(found.error, kRelativeError)};
      }
    }
    if (machine_ == nullptr) return {};
    found = machine_->estimate(key, place);
    found.error = kModelledError;
    return found;
  }

  // The host's time for a launch is that of an operator of the framework.
  EngineOptions engine() const override {
    EngineOptions options;
    if (machine_ != nullptr) {
      options = machine_->engine();
    } else {
      options.host = host_;
      options.host.uses_core = false;
    }
    const auto issue = [](HostCosts& host, Kind kind) -> std::int64_t& {
      return host.issue_ns[static_cast<std::size_t>(kind)];
    };
    const std::int64_t launch = host_.issue_ns[static_cast<std::size_t>(Kind::launch)];
    issue(options.host, Kind::launch) = issue(options.host, Kind::copy) = launch;
    issue(options.host, Kind::collective) = 2 * launch;
    return options;
  }

  SegmentCosts segments() const override {
    return machine_ == nullptr ? SegmentCosts{} : machine_->segments();
  }
  double peak_flops_per_ns(DType type) const override {
    return (machine_ == nullptr ? measured_ : machine_)->peak_flops_per_ns(type);
  }
  std::int64_t device_bytes() const override {
    return machine_ == nullptr ? 0 : machine_->device_bytes();
  }
  std::int64_t bytes_outside_allocator(const RankProgram& program) const override {
    return machine_ == nullptr ? 0 : machine_->bytes_outside_allocator(program);
  }
  int ranks_per_node() const override {
    return machine_ == nullptr ? 0 : machine_->ranks_per_node();
  }
  double band() const override { return measured_->band(); }

  std::string unknown_device() const override { return machine_ == nullptr ? device_ : ""; }

  std::vector<std::string> warnings() const override {
    if (other_device_.empty()) return {};
    return {"the recordings are of " + device_ + ", not of " + other_device_ +
            ": what they show is taken as it was there"};
  }

 private:
  static CostEstimate without_uses(CostEstimate estimate) {
    estimate.uses = {};
    return estimate;
  }

  std::unique_ptr<CostModel> measured_, machine_;  // the second is null for unknown devices
  std::string device_;
  std::string other_device_;  // that of the machine, where it is not the recorded one
  HostCosts host_;
};

}  // namespace

std::unique_ptr<CostModel> accelerator_costs(std::unique_ptr<CostModel> measured,
                                             const CostTable& table, int ranks, int nodes,
                                             const Machine* machine) {
  return std::make_unique<AcceleratorCosts>(std::move(measured), table, ranks, nodes, machine);
}

}  // namespace foreshard::simulator
