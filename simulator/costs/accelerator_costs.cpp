// Costs by a table fitted to recordings of accelerators, such as PyTorch's. Each rank has a device of
// its own, so nothing is shared. What the recordings do not carry is taken from what is nearest to it:
// a product from other products of its size, what moves bytes from what else moved as many, and the
// rest from the device's data sheet, where the catalogue has it; without one it is unknown. No
// estimate beats the data sheet. What the host does is never priced by what devices did.
//
// Recordings of a part of the catalogue are observations of its device model, which says what was known
// before them. What was measured replaces it; an estimate from other measurements and the model's, as
// many times as long as it turned out to be for that operator, are joined by their precisions. What no
// recording of some steps shows stays the model's: what collectives take of the kernels beside them, how slow
// the slowest of more ranks is, and the clock under load. So do the uncertainties: a recording adds none.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/base/figures.hpp"
#include "models/hardware/device_names.hpp"
#include "models/hardware/kernel_rates.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/data_sheet.hpp"
#include "simulator/costs/joined_errors.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/costs/thread_count_estimates.hpp"
#include "simulator/device/device_model.hpp"

namespace foreshard::simulator {
namespace {

// Relative standard deviation: kernels of one kind differ by a fifth in what they reach of a device.
constexpr double kRelativeError = 0.2;
// What sizes of one operator differ by at least in how far the model misses them.
constexpr double kLeastModelError = 0.1;

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

// A product of a size that was not measured, in a long run, whose clock the power limits. Measurements of
// others may show any clock from the best to that one: what is faster than the catalogue has it for long
// runs is believed to be so by the precisions of the two.
double under_load(double ns, const CostKey& key, const DeviceModel& device,
                  const KernelRate& long_run) {
  if (!is_matmul(key.op) || key.dtype == DType::fp32) return ns;  // which may have been TF32
  const double least_ns = 1e9 * flops(key) / device.sustained_product_flops(key.dtype);
  if (ns <= 0 || ns >= least_ns) return ns;
  const double clocks = std::log(long_run.value);
  const double believed = clocks * clocks / (clocks * clocks + long_run.spread * long_run.spread);
  return ns * std::pow(least_ns / ns, believed);
}

// How many times as long as by the model what was measured of an operator takes, and how far sizes differ
// in that: standard deviation of the logarithm.
struct Miss {
  double factor = 1;
  double deviation = kRelativeError;
};

class AcceleratorCosts final : public CostModel {
 public:
  AcceleratorCosts(CostTable table, int ranks, int nodes, const Machine* machine)
      : table_(std::move(table)),
        recorded_(table_.regimes.front()),
        part_(fastest_machine()),
        is_host_alone_(table_.pytorch_host && table_.pytorch_host->is_alone) {
    const auto recorded = machine_reported_as(table_.machine_name);
    if (machine == nullptr && recorded) machine = &*recorded;
    if (machine != nullptr) {
      part_ = *machine;
      const RateFactors* fitted = table_.rates ? &table_.rates->factors : nullptr;
      machine_ = machine_costs(*machine, ranks, nodes, fitted);
      platform = machine_->platform;
      wording.slowest_rank = machine_->wording.slowest_rank;
      if (!is_host_alone_) wording.data_sheet = machine_->wording.data_sheet;
      if (recorded && recorded->name == machine->name) {
        model_.emplace(*machine, fitted);
        long_run_ = kernel_rates(*machine).under_load;
        certainty = machine_->certainty;
        find_misses();
        if (table_.pytorch_host) know_host();
      } else if (recorded) {
        wording.warnings = {"the recordings are of " + table_.machine_name + ", not of " +
                            machine->name + "; their costs are used unchanged"};
      }
    } else {
      platform.ranks_per_node = nodes > 0 ? ranks / nodes : 0;
      wording.unknown_device = table_.machine_name;
    }
    certainty.errors = model_ ? joined_errors(certainty.errors, table_) : errors_of(table_);
    if (table_.variation) know_slowest(ranks, *table_.variation);
    if (const auto& host = table_.pytorch_host) {
      platform.pytorch_host =
          HostPace{host->relative_time, is_host_alone_ ? 0 : host->relative_time};
    }
    if (is_host_alone_) {
      forget_device();
    } else {
      know_engine();
      know_segments();
      know_peaks();
    }
  }

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    if (is_host_alone_ && !place.on_host) return {0, {}, CostSource::measured};
    const auto known = recorded_.ask(key, place);
    auto recorded = by_recordings(key, place, known);
    CostEstimate found;
    if (recorded) {
      found = *recorded;
      found.error *= table_.uncertainty_scale;
      if (machine_ != nullptr && !place.on_host) join_model(found, key, place);
    } else {
      found = by_data_sheet(key, place, known);
    }
    const bool is_estimate =
        found.source == CostSource::fitted || found.source == CostSource::modelled;
    if (is_estimate && !place.on_host) {
      found.ns = std::max(found.ns, least_ns(key, part_, place.nodes));
    }
    return found;
  }

  std::string basis(const CostKey& key, const TaskPlace& place) const override {
    const auto nearest = recorded_.nearest(key, place.on_host);
    return nearest || machine_ == nullptr ? basis_text(key, nearest) : machine_->basis(key, place);
  }
  std::string basis(Rate rate) const override {
    const bool is_recorded = rate == Rate::host && table_.pytorch_host;
    return is_recorded ? "recorded steps of this host" : machine_->basis(rate);
  }

 private:
  using Known = std::optional<ThreadCountEstimate>;

  void forget_device() {
    platform.engine = {};
    platform.segments = {0, 0, CostSource::measured};
    platform.peak_flops_per_ns.fill(0);
    platform.device_bytes = 0;
    wording.warnings = {
        "the recordings show no work of a device: times are the host's alone; name the "
        "device with --machine"};
  }

  // What enough samples of the recordings carry is theirs, the rest the data sheet's.
  void know_engine() {
    const HostCosts& recorded = recorded_.regime().host;
    const HostSamples& samples = recorded_.regime().host_samples;
    HostCosts& host = platform.engine.host;
    if (machine_ == nullptr) {
      host = recorded;
      host.uses_core = false;
    }
    const auto issue = [](auto& of, Kind kind) -> auto& {
      return of[static_cast<std::size_t>(kind)];
    };
    // The host's time for a launch is that of an operator of the framework.
    if (machine_ == nullptr || issue(samples.issue, Kind::launch) > 0) {
      const std::int64_t launch = issue(recorded.issue_ns, Kind::launch);
      issue(host.issue_ns, Kind::launch) = issue(host.issue_ns, Kind::copy) = launch;
      issue(host.issue_ns, Kind::collective) = 2 * launch;
    }
    for (std::size_t kind = 0; kind < host.issue_ns.size(); ++kind) {
      if (samples.issue[kind] >= kEnoughSamples) host.issue_ns[kind] = recorded.issue_ns[kind];
    }
    for (std::size_t i = 0; i < kHostLatencies.size(); ++i) {
      if (samples.latencies[i] >= kEnoughSamples) {
        host.*kHostLatencies[i] = recorded.*kHostLatencies[i];
      }
    }
  }

  // Calls to free are rare; without any they are taken to last as long as those that allocate.
  void know_segments() {
    const SegmentTimes& seen = table_.segments;
    if (seen.allocs > 0) {
      platform.segments = {std::llround(seen.alloc_ns),
                           std::llround(seen.frees > 0 ? seen.free_ns : seen.alloc_ns),
                           CostSource::measured};
    } else if (machine_ == nullptr) {
      platform.segments = {};
    }
  }

  // Recorded fp32 products that are faster than the part's fp32 units ran as TF32.
  void know_peaks() {
    for (const DType type : kDTypes) {
      double& peak = platform.peak_flops_per_ns[static_cast<std::size_t>(type)];
      const double best = best_recorded(type);
      if (machine_ == nullptr) {
        peak = best;
      } else if (type == DType::fp32 && best > peak) {
        peak = std::max(peak, part_.tf32_flops / 1e9);
      }
    }
  }

  void know_slowest(int ranks, const RankVariation& variation) {
    const double sigma_error = 1 / std::sqrt(2.0 * static_cast<double>(variation.ranks - 1));
    certainty.slowest_rank = slowest_of(
        ranks, std::hypot(variation.between_ranks, variation.between_steps), sigma_error);
    wording.slowest_rank =
        formatted("the slowest rank computes %.1f %% longer than the median one: recordings of ",
                  100 * (certainty.slowest_rank.factor - 1)) +
        plural(variation.ranks, "rank") + ", " + plural(variation.steps, "step");
  }

  // Nothing where they do not carry it.
  std::optional<CostEstimate> by_recordings(const CostKey& key, const TaskPlace& place,
                                            const Known& known) const {
    // What another device did may be beyond this one.
    const bool is_credible = known && known->is_carried &&
                             (known->source != CostSource::measured || place.on_host ||
                              !is_impossible(known->ns, key, part_, place.nodes));
    const double slowest = slowest_at(key, place);
    if (is_credible) return CostEstimate{known->ns * slowest, {}, known->source, known->error};
    const auto relative = place.on_host ? std::nullopt : relative_of(key);
    if (!relative) return {};
    const auto found = recorded_.ask(relative->key, place);
    if (!found || !found->is_carried) return {};
    return CostEstimate{found->ns * relative->factor * slowest,
                        {},
                        CostSource::modelled,
                        std::max(found->error, kRelativeError)};
  }

  double slowest_at(const CostKey& key, const TaskPlace& place) const {
    return is_arithmetic(key.op) && !place.on_host ? certainty.slowest_rank.factor : 1;
  }

  // Gives a recorded cost what the device's model knows of it.
  void join_model(CostEstimate& found, const CostKey& key, const TaskPlace& place) const {
    const CostEstimate model = machine_->estimate(key, place);
    found.takes = model.takes;
    found.lacks = model.lacks;
    if (!model_) return;
    found.rate = model.rate;
    if (found.source != CostSource::measured && !is_collective(key.op) && found.ns > 0) {
      const Miss& miss = miss_of(key);
      const double of_operator = model.ns * miss.factor, of_fit = fit_error(key);
      // The same for all sizes, so that more work takes no less time.
      const double weight =
          miss.deviation * miss.deviation / (miss.deviation * miss.deviation + of_fit * of_fit);
      // Nor is it more than recordings make of it: so much, at least, takes what is beyond their reach.
      if (model.ns > 0) {
        found.ns *= std::min(1.0, std::pow(of_operator / found.ns, 1 - weight));
      }
    }
    if (found.source == CostSource::measured) return;
    found.error = std::min(found.error, model.error);
    found.ns = under_load(found.ns, key, *model_, long_run_);
  }

  CostEstimate by_data_sheet(const CostKey& key, const TaskPlace& place, const Known& known) const {
    if (machine_ == nullptr) return {};
    CostEstimate modelled = machine_->estimate(key, place);
    if (known) modelled.ns = std::max(modelled.ns, known->at_least_ns * slowest_at(key, place));
    if (model_) return modelled;
    modelled.error = kModelledError * table_.uncertainty_scale;
    // Beside recordings of another device, one operator's error says nothing of another's.
    modelled.rate = Rate::kCount;
    return modelled;
  }

  // Weighted by time.
  void find_misses() {
    std::vector<std::pair<CostKey, MeasuredCost>> measured(recorded_.regime().measured.begin(),
                                                           recorded_.regime().measured.end());
    const auto in_order = [](const auto& a, const auto& b) {  // not the hash table's
      return std::tie(a.first.op, a.first.dtype, a.first.dtype2, a.first.dims) <
             std::tie(b.first.op, b.first.dtype, b.first.dtype2, b.first.dims);
    };
    std::sort(measured.begin(), measured.end(), in_order);
    struct Sums {
      double weight = 0, first = 0, second = 0;
    };
    std::map<std::pair<Operator, DType>, Sums> operators;
    for (const auto& [key, cost] : measured) {
      if (is_collective(key.op) || key.op == Operator::opaque || cost.ns <= 0) continue;
      const double model_ns = machine_->estimate(key, {}).ns;
      if (model_ns <= 0) continue;
      Sums& sums = operators[{key.op, key.dtype}];
      const double time = cost.ns * static_cast<double>(cost.count);
      const double miss = std::log(cost.ns / model_ns);
      sums.weight += time;
      sums.first += time * miss;
      sums.second += time * miss * miss;
    }
    for (const auto& [what, sums] : operators) {
      if (sums.weight <= 0) continue;
      const double mean = sums.first / sums.weight;
      const double variance = std::max(0.0, sums.second / sums.weight - mean * mean);
      misses_[what] = {std::exp(mean), std::max(kLeastModelError, std::sqrt(variance))};
    }
  }

  // Of the operator, or of the one that stands for it.
  const Miss& miss_of(const CostKey& key) const {
    static const Miss none;
    const auto relative = relative_of(key);
    for (const CostKey& of : {key, relative ? relative->key : key}) {
      const auto found = misses_.find({of.op, of.dtype});
      if (found != misses_.end()) return found->second;
    }
    return none;
  }

  // Of what recordings make of other sizes of the operator.
  double fit_error(const CostKey& key) const {
    const OperatorFit* fit = recorded_.regime().fit_of(key, false);
    const bool shows_growth = fit != nullptr && fit->range.sizes > 1;
    return shows_growth ? std::max(kLeastFitError, fit->residual) : kRelativeError;
  }

  // From one of three recorded steps of a host the other two are predicted within 9 % (docs/costs.md).
  void know_host() {
    constexpr double kRecordedHost = 0.09;
    constexpr auto kHost = static_cast<std::size_t>(Rate::host);
    auto& covariance = certainty.factors->covariance;
    for (std::size_t r = 0; r < kRates; ++r) covariance[r][kHost] = covariance[kHost][r] = 0;
    covariance[kHost][kHost] = kRecordedHost * kRecordedHost;
  }

  // The best rate that any product of the recordings reached, or its fit goes on at.
  double best_recorded(DType type) const {
    double best = recorded_.regime().best_rate(type);
    for (const OperatorFit& fit : recorded_.regime().operators) {
      if (fit.dtype == type && fit.ns_per_flop > 0) best = std::max(best, 1 / fit.ns_per_flop);
    }
    return best;
  }

  CostTable table_;
  ThreadCountEstimates recorded_;
  Machine part_;                        // what bounds the estimates
  std::unique_ptr<CostModel> machine_;  // null for devices that the catalogue lacks
  std::optional<DeviceModel> model_;    // of the recorded device, where that is the machine's
  std::map<std::pair<Operator, DType>, Miss> misses_;
  KernelRate long_run_;  // of products, what long runs keep of their best rate
  bool is_host_alone_;   // of a device that does nothing
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
