// Costs by a table fitted to recordings of this machine's processor, where host and streams are the
// same cores: what was not seen in one place, type, group or number of threads is taken from another,
// as an estimate with a larger error.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "models/base/statistics.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/costs/thread_count_estimates.hpp"

namespace foreshard::simulator {
namespace {

// The key in another type, with the same shape. Reductions add elements, whose bytes change with the
// type; a gather moves its bytes whatever they are.
CostKey in_type(const CostKey& key, DType type) {
  CostKey twin = key;
  const bool adds = key.op == Operator::reduce_scatter || key.op == Operator::all_reduce;
  if (adds) twin.dims[0] = key.dims[0] / item_size(key.dtype) * item_size(type);
  if (twin.dtype2 == twin.dtype) twin.dtype2 = type;
  if (twin.dtype3 == twin.dtype) twin.dtype3 = type;
  twin.dtype = type;
  return twin;
}

// Relative standard deviations of estimates that no residual describes: judged from recordings of
// one processor with other threads, and of its host's work against that of its streams. `fit` learns
// from runs it left out whether predictions that rest on them are further off, and widens them then.
constexpr double kOtherThreadsError = 0.1;   // corrected by what threads do to others
constexpr double kUnseenThreadsError = 0.2;  // as if the work divided evenly: see with_threads
constexpr double kOtherPlaceError = 0.15;
constexpr double kOtherGroupError = 0.15;

class TableCosts final : public CostModel {
 public:
  TableCosts(CostTable table, int ranks)
      : table_(std::move(table)),
        threads_(threads_per_rank(table_.cores, ranks)),
        fallback_(processor_costs(table_.cores, ranks)) {
    // The regime of these threads first, then the others by nearness.
    std::sort(table_.regimes.begin(), table_.regimes.end(),
              [&](const ThreadCountCosts& a, const ThreadCountCosts& b) {
                return std::abs(a.threads - threads_) < std::abs(b.threads - threads_);
              });
    for (const ThreadCountCosts& regime : table_.regimes) {
      regimes_.emplace_back(regime);
      for (const auto& [key, cost] : regime.measured) {
        if (cost.ns <= 0 || is_transfer(key.op)) continue;
        quickest_bytes_ = std::max(quickest_bytes_, bytes_moved(key) / cost.ns);
      }
    }
    crowding_ = crowding(table_, threads_, ranks);
    describe(ranks);
  }

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    CostEstimate result = without_crowding(key, place);
    result.ns *= crowding_;
    // Held-out recordings show how far off the costs are that no recording carries.
    if (result.source == CostSource::modelled) result.error *= table_.uncertainty_scale;
    const bool spreads = threads_ > 1 && !is_transfer(key.op);
    result.uses = {};
    result.uses[static_cast<std::size_t>(Resource::cores)] =
        spreads ? static_cast<float>(threads_) : 1.0F;
    if (table_.memory_bytes_per_ns > 0 && result.ns > 0) {
      // Nobody alone is slower than alone.
      const double rate = std::min(bytes_moved(key) / result.ns, table_.memory_bytes_per_ns);
      result.uses[static_cast<std::size_t>(Resource::memory)] = static_cast<float>(rate);
    }
    return result;
  }

  std::string basis(const CostKey& key, const TaskPlace& place) const override {
    std::optional<NearestMeasurement> best;
    for (const ThreadCountEstimates& regime : regimes_) {
      const auto there = regime.nearest(key, place.on_host);
      if (there && (!best || there->doublings < best->doublings)) best = there;
    }
    return basis_text(key, best);
  }

 private:
  void describe(int ranks) {
    const ThreadCountCosts& home = regimes_.front().regime();
    EngineOptions& options = platform.engine;
    options.shares = true;
    options.simulated = Simulated::all_ranks;
    options.capacities[static_cast<std::size_t>(Resource::cores)] = table_.cores;
    options.capacities[static_cast<std::size_t>(Resource::memory)] = table_.memory_bytes_per_ns;
    options.host = home.host;
    options.host.uses_core = true;
    // The best rate any matrix product of the recordings reached.
    for (const DType type : kDTypes) {
      const auto t = static_cast<std::size_t>(type);
      const double best = home.best_rate(type);
      platform.peak_flops_per_ns[t] =
          best > 0 ? best * cores_per_rank(table_.cores, ranks) / home.threads
                   : fallback_->platform.peak_flops_per_ns[t];
    }
    certainty.errors = errors_of(table_);
    if (home.threads != threads_) {
      wording.warnings.push_back("the costs were recorded with " + std::to_string(home.threads) +
                                 " threads per rank, this run has " + std::to_string(threads_));
    }
  }

  CostEstimate without_crowding(const CostKey& key, const TaskPlace& place) const {
    const CostEstimate guess = guessed(key, place);
    if (const auto known = ask_all(key, place)) return within_reason(*known, guess);
    // The operator was only seen in another type: as long for as many elements.
    for (const DType type : {DType::fp32, DType::bf16}) {
      if (type == key.dtype) continue;
      if (const auto twin = ask_all(in_type(key, type), place)) return modelled_by(*twin, guess);
    }
    // A relative that does the same to memory.
    if (key.op == Operator::cast) {
      CostKey relative = key;
      relative.op = Operator::shard_cast;
      if (const auto known = ask_all(relative, place)) return modelled_by(*known, guess);
    }
    return guess;
  }

  CostEstimate guessed(const CostKey& key, const TaskPlace& place) const {
    CostEstimate guess = fallback_->estimate(key, place);
    guess.error = kModelledError;
    return guess;
  }

  static CostEstimate modelled_by(const ThreadCountEstimate& answer, const CostEstimate& guess) {
    ThreadCountEstimate unsure = answer;
    unsure.source = CostSource::modelled;
    unsure.error = std::hypot(answer.error, kModelledError);
    return within_reason(unsure, guess);
  }

  // What the samples do not carry is still the best one has of this very processor, as long as it is
  // not ten times off what any core does.
  static CostEstimate within_reason(const ThreadCountEstimate& answer, const CostEstimate& guess) {
    if (answer.is_carried) return {answer.ns, {}, answer.source, answer.error};
    constexpr double kReason = 10;
    return {std::clamp(answer.ns, guess.ns / kReason, guess.ns * kReason),
            {},
            CostSource::modelled,
            std::hypot(answer.error, kModelledError)};
  }

  // The regime of these threads, else another one corrected by what threads do to such operators.
  std::optional<ThreadCountEstimate> ask_all(const CostKey& key, const TaskPlace& place) const {
    std::optional<ThreadCountEstimate> best;
    const ThreadCountEstimates& home = regimes_.front();
    for (const ThreadCountEstimates& regime : regimes_) {
      auto known = ask_near(regime, key, place);
      if (!known || (best && !known->is_carried)) continue;
      if (regime.regime().threads != threads_) {
        if (&regime != &home) known->ns *= speed_ratio(key, home, regime);
        if (known->source == CostSource::measured) known->source = CostSource::fitted;
        const bool is_corrected = home.regime().threads == threads_;
        if (!is_corrected) known->ns = with_threads(key, known->ns, home.regime().threads);
        known->error =
            std::hypot(known->error, is_corrected ? kOtherThreadsError : kUnseenThreadsError);
      }
      if (known->is_carried) return known;
      best = known;
    }
    return best;
  }

  // What took `ns` with `recorded` threads, where no recording has this run's: kernels divide their
  // work among threads, but move bytes no quicker than any recorded one did.
  double with_threads(const CostKey& key, double ns, int recorded) const {
    if (is_transfer(key.op)) return ns;
    const double at_quickest = quickest_bytes_ > 0 ? bytes_moved(key) / quickest_bytes_ : 0;
    return std::max(ns * recorded / threads_, std::min(ns, at_quickest));
  }

  // Where it was asked for or, failing that, in the other of host and streams, or another group.
  static std::optional<ThreadCountEstimate> ask_near(const ThreadCountEstimates& regime,
                                                     const CostKey& key, const TaskPlace& place) {
    const auto from_elsewhere = [](std::optional<ThreadCountEstimate> there, double error) {
      if (!there) return there;
      there->source = CostSource::modelled;
      there->error = std::hypot(there->error, error);
      return there;
    };
    auto here = regime.ask(key, place);
    if (here && here->is_carried) return here;
    const TaskPlace other{!place.on_host, place.nodes};
    auto there = is_collective(key.op)
                     ? from_elsewhere(regime.ask(key, place, GroupMatch::nearest), kOtherGroupError)
                     : from_elsewhere(regime.ask(key, other), kOtherPlaceError);
    return here && !(there && there->is_carried) ? here : there;
  }

  // Time with the threads of `home` over time with those of `other`: as the same operator shows it
  // in another type, else as all operators do together.
  static double speed_ratio(const CostKey& key, const ThreadCountEstimates& home,
                            const ThreadCountEstimates& other) {
    if (is_transfer(key.op)) return 1;
    for (const DType type : {DType::fp32, DType::bf16}) {
      const CostKey twin = in_type(key, type);
      const auto a = home.fitted(twin, {}), b = other.fitted(twin, {});
      if (a && b && *b > 0) return *a / *b;
    }
    std::vector<double> ratios;
    for (const auto& [seen, cost] : home.regime().measured) {
      const auto ns = is_transfer(seen.op) ? std::nullopt : other.fitted(seen, {});
      if (ns && *ns > 0) ratios.push_back(cost.ns / *ns);
    }
    if (ratios.empty()) {
      return static_cast<double>(other.regime().threads) / home.regime().threads;
    }
    return median(std::move(ratios));
  }

  // The factor of these threads or else of any, at the nearest number of ranks.
  static double crowding(const CostTable& table, int threads, int ranks) {
    const Oversubscription* best = nullptr;
    const auto distance = [&](const Oversubscription& c) {
      return std::pair(c.threads != threads, std::abs(c.ranks - ranks));
    };
    for (const Oversubscription& c : table.crowding) {
      if (best == nullptr || distance(c) < distance(*best)) best = &c;
    }
    return best == nullptr ? 1 : best->factor;
  }

  CostTable table_;
  int threads_;
  std::vector<ThreadCountEstimates> regimes_;
  double quickest_bytes_ = 0;  // that any recorded kernel moved, in a nanosecond
  double crowding_ = 1;
  std::unique_ptr<CostModel> fallback_;
};

}  // namespace

std::unique_ptr<CostModel> table_costs(CostTable table, int ranks, int nodes,
                                       const Machine* machine) {
  if (table.is_accelerator) return accelerator_costs(std::move(table), ranks, nodes, machine);
  return std::make_unique<TableCosts>(std::move(table), ranks);
}

}  // namespace foreshard::simulator
