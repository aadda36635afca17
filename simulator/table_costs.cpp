// Costs by a table fitted to recordings of this machine.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "simulator/cost_model.hpp"

namespace foreshard::simulator {
namespace {

bool is_collective(Operator op) {
  return op == Operator::all_gather || op == Operator::reduce_scatter || op == Operator::all_reduce;
}

bool is_single_threaded(Operator op) {
  return is_collective(op) || op == Operator::copy_host_to_device ||
         op == Operator::copy_device_to_host;
}

double fitted_ns(const OperatorFit& fit, const CostKey& key) {
  return fit.overhead_ns + fit.ns_per_flop * flops(key) + fit.ns_per_byte * bytes_moved(key);
}

double fitted_ns(const CollectiveFit& fit, const CostKey& key) {
  const auto bytes = static_cast<double>(key.dims[0]);
  return fit.base_ns + fit.ns_per_root_byte * std::sqrt(bytes) + fit.ns_per_byte * bytes;
}

const OperatorFit* find_fit(const Regime& regime, Operator op, DType dtype) {
  for (const OperatorFit& fit : regime.operators) {
    if (fit.op == op && fit.dtype == dtype) return &fit;
  }
  return nullptr;
}

const CollectiveFit* find_collective(const Regime& regime, Operator op, std::int64_t group) {
  const CollectiveFit* nearest = nullptr;
  const auto distance = [&](const CollectiveFit& fit) { return std::abs(fit.group - group); };
  for (const CollectiveFit& fit : regime.collectives) {
    if (fit.op == op && (nearest == nullptr || distance(fit) < distance(*nearest))) nearest = &fit;
  }
  return nearest;
}

// How far apart two keys of one operator are: doublings of each dimension, summed.
double distance(const CostKey& a, const CostKey& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    sum += std::abs(std::log2((1.0 + static_cast<double>(a.dims[d])) /
                              (1.0 + static_cast<double>(b.dims[d]))));
  }
  return sum;
}

// One regime, with what its fits miss remembered beside them: near a measured key the estimate
// leans on how much that key differs from the fit.
class RegimeCosts {
 public:
  explicit RegimeCosts(const Regime& regime) : regime_(regime) {
    for (const auto& [key, cost] : regime.measured) {
      const std::optional<double> fit = by_fit(key);
      if (fit && *fit > 0 && cost.ns > 0) misses_.push_back({key, std::log(cost.ns / *fit)});
    }
    // Sums must not depend on the hash table's order.
    std::sort(misses_.begin(), misses_.end(), [](const Miss& a, const Miss& b) {
      return std::tie(a.key.op, a.key.dtype, a.key.dims) < std::tie(b.key.op, b.key.dtype, b.key.dims);
    });
  }

  const Regime& regime() const { return regime_; }

  const MeasuredCost* measured(const CostKey& key) const {
    const auto found = regime_.measured.find(key);
    return found == regime_.measured.end() ? nullptr : &found->second;
  }

  std::optional<double> fitted(const CostKey& key) const {
    const std::optional<double> fit = by_fit(key);
    if (!fit) return {};
    constexpr double kReach = 0.7;    // doublings over which a miss is believed to carry
    constexpr double kDoubt = 0.15;   // weight of "no miss"
    double weights = kDoubt, sum = 0;
    for (const Miss& miss : misses_) {
      if (miss.key.op != key.op || miss.key.dtype != key.dtype) continue;
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
    double log_ratio;
  };

  std::optional<double> by_fit(const CostKey& key) const {
    if (is_collective(key.op)) {
      const CollectiveFit* fit = find_collective(regime_, key.op, key.dims[1]);
      if (fit == nullptr) return {};
      return fitted_ns(*fit, key);
    }
    const OperatorFit* fit = find_fit(regime_, key.op, key.dtype);
    if (fit == nullptr) return {};
    return fitted_ns(*fit, key);
  }

  const Regime& regime_;
  std::vector<Miss> misses_;
};

class TableCosts final : public CostModel {
 public:
  TableCosts(CostTable table, int ranks)
      : table_(std::move(table)), ranks_(ranks), threads_(threads_per_rank(table_.cores, ranks)) {
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
    const double bytes = is_collective(key.op) ? static_cast<double>(key.dims[0]) : bytes_moved(key);
    result.uses = {};
    result.uses[static_cast<std::size_t>(Resource::cores)] = spreads ? static_cast<float>(threads_) : 1.0F;
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
  CostEstimate without_crowding(const CostKey& key, const TaskPlace& place) const {
    const RegimeCosts& home = regimes_.front();
    const bool is_home = home.regime().threads == threads_;
    if (const MeasuredCost* cost = home.measured(key)) {
      return {cost->ns, {}, is_home ? CostSource::measured : CostSource::fitted};
    }
    if (const auto ns = home.fitted(key)) return {*ns, {}, CostSource::fitted};
    for (std::size_t r = 1; r < regimes_.size(); ++r) {
      const RegimeCosts& other = regimes_[r];
      const MeasuredCost* cost = other.measured(key);
      const auto ns = cost != nullptr ? std::optional(cost->ns) : other.fitted(key);
      if (ns) return {*ns * speed_ratio(key, home, other), {}, CostSource::fitted};
    }
    if (const auto ns = as_another_type(key, home)) return {*ns, {}, CostSource::modelled};
    return fallback_->estimate(key, place);
  }

  // Time with the threads of `home` over time with those of `other`: as the same operator shows it
  // in another type, else as all operators do together.
  static double speed_ratio(const CostKey& key, const RegimeCosts& home, const RegimeCosts& other) {
    if (is_single_threaded(key.op)) return 1;
    if (const auto ratio = ratio_in_another_type(key, home, other)) return *ratio;
    std::vector<double> ratios;
    for (const auto& [seen, cost] : home.regime().measured) {
      const auto ns = is_single_threaded(seen.op) ? std::nullopt : other.fitted(seen);
      if (ns && *ns > 0) ratios.push_back(cost.ns / *ns);
    }
    if (ratios.empty()) {
      return static_cast<double>(other.regime().threads) / home.regime().threads;
    }
    std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2),
                     ratios.end());
    return ratios[ratios.size() / 2];
  }

  static std::optional<double> ratio_in_another_type(const CostKey& key, const RegimeCosts& home,
                                                     const RegimeCosts& other) {
    for (const DType type : {DType::fp32, DType::bf16}) {
      CostKey twin = key;
      if (twin.dtype2 == twin.dtype) twin.dtype2 = type;
      if (twin.dtype3 == twin.dtype) twin.dtype3 = type;
      twin.dtype = type;
      const auto a = home.fitted(twin), b = other.fitted(twin);
      if (a && b && *b > 0) return *a / *b;
    }
    return {};
  }

  // The operator was only seen in another type: the same time per byte.
  static std::optional<double> as_another_type(const CostKey& key, const RegimeCosts& home) {
    for (const DType type : {DType::fp32, DType::bf16}) {
      CostKey twin = key;
      twin.dtype = type;
      const auto ns = home.fitted(twin);
      if (ns) return *ns;
    }
    return {};
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
  int ranks_, threads_;
  std::vector<RegimeCosts> regimes_;
  double crowding_ = 1;
  std::unique_ptr<CostModel> fallback_;
};

}  // namespace

std::unique_ptr<CostModel> table_costs(CostTable table, int ranks) {
  return std::make_unique<TableCosts>(std::move(table), ranks);
}

}  // namespace foreshard::simulator
