// Costs by a table fitted to recordings of this machine.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "simulator/cost_model.hpp"

namespace foreshard::simulator {
namespace {

bool is_single_threaded(Operator op) {
  return is_collective(op) || op == Operator::copy_host_to_device ||
         op == Operator::copy_device_to_host;
}

double fitted_ns(const OperatorFit& fit, const CostKey& key) {
  return fit.overhead_ns + fit.ns_per_flop * flops(key) + fit.ns_per_byte * bytes_moved(key);
}

double fitted_ns(const CollectiveFit& fit, double bytes) {
  return fit.base_ns + fit.ns_per_root_byte * std::sqrt(bytes) + fit.ns_per_byte * bytes;
}

const OperatorFit* find_fit(const Regime& regime, const CostKey& key, bool on_host) {
  for (const OperatorFit& fit : regime.operators) {
    if (fit.op == key.op && fit.dtype == key.dtype && fit.on_host == on_host) return &fit;
  }
  return nullptr;
}

// Of the collective in this type, that of the nearest group size.
const CollectiveFit* find_collective(const Regime& regime, const CostKey& key) {
  const CollectiveFit* nearest = nullptr;
  const auto distance = [&](const CollectiveFit& fit) { return std::abs(fit.group - key.dims[1]); };
  for (const CollectiveFit& fit : regime.collectives) {
    if (fit.op != key.op || fit.dtype != key.dtype) continue;
    if (nearest == nullptr || distance(fit) < distance(*nearest)) nearest = &fit;
  }
  return nearest;
}

// How far apart two keys of one operator are: doublings of each dimension, summed.
double distance(const CostKey& a, const CostKey& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    sum += std::abs(
        std::log2((1.0 + static_cast<double>(a.dims[d])) / (1.0 + static_cast<double>(b.dims[d]))));
  }
  return sum;
}

// The key in another type, with the same shape. Collectives count bytes, so theirs change with it.
CostKey in_type(const CostKey& key, DType type) {
  CostKey twin = key;
  if (is_collective(key.op)) twin.dims[0] = key.dims[0] / item_size(key.dtype) * item_size(type);
  if (twin.dtype2 == twin.dtype) twin.dtype2 = type;
  if (twin.dtype3 == twin.dtype) twin.dtype3 = type;
  twin.dtype = type;
  return twin;
}

// Relative standard deviations of estimates that no residual describes.
constexpr double kOtherThreadsError = 0.1;
constexpr double kOtherPlaceError = 0.15;  // host instead of a stream, or the reverse
constexpr double kModelledError = 0.3;
constexpr double kLeastFitError =
    0.06;  // an operator's residual is small where few sizes were seen

struct Answer {
  double ns = 0;
  CostSource source = CostSource::fitted;
  double error = 0;
};

// One regime, with what its fits miss remembered beside them: near a measured key the estimate
// leans on how much that key differs from the fit.
class RegimeCosts {
 public:
  explicit RegimeCosts(const Regime& regime) : regime_(regime) {
    for (const bool on_host : {false, true}) {
      for (const auto& [key, cost] : on_host ? regime.measured_on_host : regime.measured) {
        const std::optional<double> fit = by_fit(key, on_host);
        if (!fit || *fit <= 0 || cost.ns <= 0) continue;
        misses_.push_back({key, on_host, std::log(cost.ns / *fit)});
      }
    }
    // Sums must not depend on the hash table's order.
    std::sort(misses_.begin(), misses_.end(), [](const Miss& a, const Miss& b) {
      return std::tie(a.key.op, a.key.dtype, a.key.dtype2, a.key.dims, a.on_host) <
             std::tie(b.key.op, b.key.dtype, b.key.dtype2, b.key.dims, b.on_host);
    });
  }

  const Regime& regime() const { return regime_; }

  // What this regime knows of a key: measured or fitted, where it was asked for or, failing that,
  // in the other of the two places.
  std::optional<Answer> ask(const CostKey& key, bool on_host) const {
    if (const auto here = ask_in(key, on_host)) return here;
    auto there = ask_in(key, !on_host);
    if (!there) return {};
    there->source = CostSource::fitted;
    there->error = std::hypot(there->error, kOtherPlaceError);
    return there;
  }

  std::optional<double> fitted(const CostKey& key, bool on_host) const {
    const std::optional<double> fit = by_fit(key, on_host);
    if (!fit) return {};
    constexpr double kReach = 0.7;   // doublings over which a miss is believed to carry
    constexpr double kDoubt = 0.15;  // weight of "no miss"
    double weights = kDoubt, sum = 0;
    for (const Miss& miss : misses_) {
      if (miss.key.op != key.op || miss.key.dtype != key.dtype || miss.on_host != on_host) continue;
      const double away = distance(miss.key, key) / kReach;
      const double weight = std::exp(-away * away / 2);
      weights += weight;
      sum += weight * miss.log_ratio;
    }
    return *fit * std::exp(sum / weights);
  }

 private:
  struct Miss {
    CostKey key;
    bool on_host;
    double log_ratio;
  };

  std::optional<Answer> ask_in(const CostKey& key, bool on_host) const {
    const MeasuredCosts& costs = on_host ? regime_.measured_on_host : regime_.measured;
    const auto found = costs.find(key);
    if (found != costs.end()) return Answer{found->second.ns, CostSource::measured, 0};
    const auto ns = fitted(key, on_host);
    if (!ns) return {};
    return Answer{*ns, CostSource::fitted, std::max(kLeastFitError, residual(key, on_host))};
  }

  // How far the operator's fit is off where it was measured, and so at least elsewhere.
  double residual(const CostKey& key, bool on_host) const {
    if (is_collective(key.op)) return find_collective(regime_, key)->residual;
    return find_fit(regime_, key, on_host)->residual;
  }

  std::optional<double> by_fit(const CostKey& key, bool on_host) const {
    if (is_collective(key.op)) {
      const CollectiveFit* fit = find_collective(regime_, key);
      if (fit == nullptr) return {};
      return fitted_ns(*fit, static_cast<double>(key.dims[0]));
    }
    const OperatorFit* fit = find_fit(regime_, key, on_host);
    if (fit == nullptr) return {};
    return fitted_ns(*fit, key);
  }

  const Regime& regime_;
  std::vector<Miss> misses_;
};

class TableCosts final : public CostModel {
 public:
  TableCosts(CostTable table, int ranks)
      : table_(std::move(table)), threads_(threads_per_rank(table_.cores, ranks)) {
    // The regime of these threads first, then the others by nearness.
    std::sort(table_.regimes.begin(), table_.regimes.end(), [&](const Regime& a, const Regime& b) {
      return std::abs(a.threads - threads_) < std::abs(b.threads - threads_);
    });
    for (const Regime& regime : table_.regimes) regimes_.emplace_back(regime);
    crowding_ = crowding(ranks);
    fallback_ = processor_costs(table_.cores, ranks);
  }

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    CostEstimate result = without_crowding(key, place);
    result.ns *= crowding_;
    const bool spreads = threads_ > 1 && !is_single_threaded(key.op);
    const double bytes =
        is_collective(key.op) ? static_cast<double>(key.dims[0]) : bytes_moved(key);
    result.uses = {};
    result.uses[static_cast<std::size_t>(Resource::cores)] =
        spreads ? static_cast<float>(threads_) : 1.0F;
    if (table_.memory_bytes_per_ns > 0 && result.ns > 0) {
      // Nobody alone is slower than alone.
      const double rate = std::min(bytes / result.ns, table_.memory_bytes_per_ns);
      result.uses[static_cast<std::size_t>(Resource::memory)] = static_cast<float>(rate);
    }
    return result;
  }

  EngineOptions engine() const override {
    EngineOptions options;
    options.shares = true;
    options.one_per_class = false;
    options.capacities[static_cast<std::size_t>(Resource::cores)] = table_.cores;
    options.capacities[static_cast<std::size_t>(Resource::memory)] = table_.memory_bytes_per_ns;
    options.host = regimes_.front().regime().host;
    options.host.uses_core = true;
    return options;
  }

  // The best rate any matrix product of the recordings reached.
  double peak_flops_per_ns(DType type) const override {
    double best = 0;
    for (const auto& [key, cost] : regimes_.front().regime().measured) {
      if (key.dtype == type && cost.ns > 0) best = std::max(best, flops(key) / cost.ns);
    }
    return best > 0 ? best : fallback_->peak_flops_per_ns(type);
  }

  int ranks_per_node() const override { return 0; }
  double band() const override { return table_.band; }

  std::vector<std::string> warnings() const override {
    std::vector<std::string> result;
    const int nearest = regimes_.front().regime().threads;
    if (nearest != threads_) {
      result.push_back("the costs were recorded with " + std::to_string(nearest) +
                       " threads per rank, this run has " + std::to_string(threads_));
    }
    return result;
  }

 private:
  static CostEstimate answer(const Answer& a) { return {a.ns, {}, a.source, a.error}; }

  CostEstimate without_crowding(const CostKey& key, const TaskPlace& place) const {
    if (const auto known = ask_all(key, place.on_host)) return answer(*known);
    // The operator was only seen in another type: as long for as many elements.
    for (const DType type : {DType::fp32, DType::bf16}) {
      if (type == key.dtype) continue;
      if (const auto twin = ask_all(in_type(key, type), place.on_host)) {
        return {twin->ns, {}, CostSource::modelled, kModelledError};
      }
    }
    // A relative that does the same to memory.
    if (key.op == Operator::cast) {
      CostKey relative = key;
      relative.op = Operator::shard_cast;
      if (const auto known = ask_all(relative, place.on_host)) {
        return {known->ns, {}, CostSource::modelled, kModelledError};
      }
    }
    CostEstimate guess = fallback_->estimate(key, place);
    guess.error = kModelledError;
    return guess;
  }

  // The regime of these threads, else another one corrected by what threads do to such operators.
  std::optional<Answer> ask_all(const CostKey& key, bool on_host) const {
    const RegimeCosts& home = regimes_.front();
    for (const RegimeCosts& regime : regimes_) {
      auto known = regime.ask(key, on_host);
      if (!known) continue;
      if (regime.regime().threads == threads_) return known;
      if (&regime != &home) known->ns *= speed_ratio(key, home, regime);
      known->source = CostSource::fitted;
      known->error = std::hypot(known->error, kOtherThreadsError);
      return known;
    }
    return {};
  }

  // Time with the threads of `home` over time with those of `other`: as the same operator shows it
  // in another type, else as all operators do together.
  static double speed_ratio(const CostKey& key, const RegimeCosts& home, const RegimeCosts& other) {
    if (is_single_threaded(key.op)) return 1;
    for (const DType type : {DType::fp32, DType::bf16}) {
      const CostKey twin = in_type(key, type);
      const auto a = home.fitted(twin, false), b = other.fitted(twin, false);
      if (a && b && *b > 0) return *a / *b;
    }
    std::vector<double> ratios;
    for (const auto& [seen, cost] : home.regime().measured) {
      const auto ns = is_single_threaded(seen.op) ? std::nullopt : other.fitted(seen, false);
      if (ns && *ns > 0) ratios.push_back(cost.ns / *ns);
    }
    if (ratios.empty()) {
      return static_cast<double>(other.regime().threads) / home.regime().threads;
    }
    std::nth_element(ratios.begin(),
                     ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
    return ratios[ratios.size() / 2];
  }

  // The factor of the nearest number of ranks.
  double crowding(int ranks) const {
    double factor = 1;
    int best = 1 << 30;
    for (const Crowding& c : table_.crowding) {
      if (std::abs(c.ranks - ranks) < best) best = std::abs(c.ranks - ranks), factor = c.factor;
    }
    return factor;
  }

  CostTable table_;
  int threads_;
  std::vector<RegimeCosts> regimes_;
  double crowding_ = 1;
  std::unique_ptr<CostModel> fallback_;
};

}  // namespace

std::unique_ptr<CostModel> table_costs(CostTable table, int ranks, int nodes,
                                       const Machine* machine) {
  auto costs = std::make_unique<TableCosts>(table, ranks);
  if (!table.is_accelerator) return costs;
  return accelerator_costs(std::move(costs), table, ranks, nodes, machine);
}

}  // namespace foreshard::simulator
