#include "simulator/costs/thread_count_estimates.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "models/base/figures.hpp"
#include "simulator/costs/key_facts.hpp"

namespace foreshard::simulator {
namespace {

// For each doubling of work outside the range of the samples; of one size only nothing shows how time
// grows with work.
constexpr double kErrorPerDoubling = 0.05, kErrorPerDoublingOfOne = 0.15;

// What starting may take: of kernels and of copies a few of today's launches, of collectives what
// small ones take over a node's links.
double longest_start_ns(Operator op) {
  if (is_collective(op)) return 50'000;
  return is_host_copy(op) ? 10'000 : 5'000;
}

// Doublings of work between the key and the samples; 0 among them.
double doublings_outside(const FitRange& range, double size) {
  if (size > range.most_work) return std::log2(size / range.most_work);
  return size < range.least_work ? std::log2(range.least_work / std::max(size, 1e-9)) : 0;
}

// In doublings, up and down.
double reach_of(const FitRange& range) {
  return range.sizes >= 3 ? 4 : static_cast<double>(range.sizes);
}

bool carries(const FitRange& range, const CostKey& key) {
  // What memory decided shows nothing of arithmetic, and the other way round.
  constexpr double kAlike = 4;
  const double kind = intensity(key);
  if (kind > kAlike * range.most_intensity || kAlike * kind < range.least_intensity) return false;
  const double size = work(key);
  const double outside = doublings_outside(range, size);
  if (outside <= reach_of(range)) return true;
  // A tenth of the time may then be a start that was taken for work.
  constexpr double kSure = 10;
  constexpr double kReachAtKnownRate = 10;
  // Nor does one product show the rate of others.
  const bool shows_rate = range.sizes > 1 || !is_arithmetic(key.op);
  return shows_rate && size > range.most_work &&
         range.longest_ns >= kSure * longest_start_ns(key.op) && outside <= kReachAtKnownRate;
}

// Attention without a window has one of the sequence's length.
CostDims with_window(const CostKey& key) {
  CostDims dims = key.dims;
  if (is_attention(key.op)) dims[5] = attention_window(key);
  return dims;
}

// How far apart two keys of one operator are: doublings of each dimension, summed.
double distance(const CostKey& a, const CostKey& b) {
  const CostDims x = with_window(a), y = with_window(b);
  double sum = 0;
  for (std::size_t d = 0; d < x.size(); ++d) {
    sum +=
        std::abs(std::log2((1.0 + static_cast<double>(x[d])) / (1.0 + static_cast<double>(y[d]))));
  }
  return sum;
}

constexpr std::int64_t kAnyNodes = 0;

const CollectiveFit* find_collective(const ThreadCountCosts& regime, const CostKey& key,
                                     const TaskPlace& place, GroupMatch match) {
  const CollectiveFit* best = nullptr;
  const auto distance = [&](const CollectiveFit& fit) { return std::abs(fit.group - key.dims[1]); };
  for (const CollectiveFit& fit : regime.collectives) {
    if (fit.op != key.op || fit.dtype != key.dtype) continue;
    if (place.nodes != kAnyNodes && fit.nodes != place.nodes) continue;
    if (match == GroupMatch::exact && fit.group != key.dims[1]) continue;
    if (best == nullptr || distance(fit) < distance(*best)) best = &fit;
  }
  return best;
}

}  // namespace

ThreadCountEstimates::ThreadCountEstimates(const ThreadCountCosts& regime) : regime_(regime) {
  for (const bool on_host : {false, true}) {
    for (const auto& [key, cost] : regime.measured_where(on_host)) {
      const std::optional<Fitted> fit = by_fit(key, {on_host, kAnyNodes}, GroupMatch::exact);
      if (!fit || fit->ns <= 0 || cost.ns <= 0) continue;
      misses_.push_back({key, on_host, std::log(cost.ns / fit->ns)});
    }
  }
  // Sums must not depend on the hash table's order.
  std::sort(misses_.begin(), misses_.end(), [](const Miss& a, const Miss& b) {
    return std::tie(a.key.op, a.key.dtype, a.key.dtype2, a.key.dims, a.on_host) <
           std::tie(b.key.op, b.key.dtype, b.key.dtype2, b.key.dims, b.on_host);
  });
}

std::optional<ThreadCountEstimates::Fitted> ThreadCountEstimates::by_fit(const CostKey& key,
                                                                         const TaskPlace& place,
                                                                         GroupMatch match) const {
  if (is_collective(key.op)) {
    const CollectiveFit* fit = find_collective(regime_, key, place, match);
    if (fit == nullptr) return {};
    return Fitted{fitted_ns(*fit, key), fit->base_ns, fit->residual, &fit->range};
  }
  const OperatorFit* fit = regime_.fit_of(key, place.on_host);
  if (fit == nullptr) return {};
  return Fitted{fitted_ns(*fit, key), fit->overhead_ns, fit->residual, &fit->range};
}

double ThreadCountEstimates::leaning(double ns, const CostKey& key, bool on_host) const {
  // What a kernel misses of its fit it misses at neighbouring sizes too, for it is the same code:
  // wholly at the same size, half of it a doubling away, hardly anything two away.
  constexpr double kReach = 0.7;   // doublings
  constexpr double kDoubt = 0.15;  // weight of "no miss"
  double weights = kDoubt, sum = 0;
  for (const Miss& miss : misses_) {
    if (miss.key.op != key.op || miss.key.dtype != key.dtype || miss.on_host != on_host) continue;
    const double away = distance(miss.key, key) / kReach;
    const double weight = std::exp(-away * away / 2);
    weights += weight;
    sum += weight * miss.log_ratio;
  }
  return ns * std::exp(sum / weights);
}

std::optional<double> ThreadCountEstimates::fitted(const CostKey& key, const TaskPlace& place,
                                                   GroupMatch match) const {
  const std::optional<Fitted> fit = by_fit(key, place, match);
  if (!fit) return {};
  return leaning(fit->ns, key, place.on_host);
}

std::optional<ThreadCountEstimate> ThreadCountEstimates::ask(const CostKey& key,
                                                             const TaskPlace& place,
                                                             GroupMatch match) const {
  const MeasuredCosts& costs = regime_.measured_where(place.on_host);
  const auto found = costs.find(key);
  const auto is_there = [&](const MeasuredCost& cost) {
    if (!is_collective(key.op)) return true;
    if (cost.nodes > 0 && place.nodes != kAnyNodes) return cost.nodes == place.nodes;
    return find_collective(regime_, key, place, GroupMatch::exact) != nullptr;
  };
  if (found != costs.end() && is_there(found->second)) {
    return ThreadCountEstimate{found->second.ns, CostSource::measured, 0, true, 0};
  }
  const std::optional<Fitted> fit = by_fit(key, place, match);
  if (!fit) return {};
  const double size = work(key);
  ThreadCountEstimate answer{leaning(fit->ns, key, place.on_host), CostSource::fitted,
                             std::max(kLeastFitError, fit->residual), carries(*fit->range, key), 0};
  const double per_doubling = fit->range->sizes > 1 ? kErrorPerDoubling : kErrorPerDoublingOfOne;
  if (answer.is_carried) answer.error += per_doubling * doublings_outside(*fit->range, size);
  if (size > fit->range->most_work) {
    const double work_ns = std::max(0.0, fit->range->longest_ns - fit->start_ns);
    answer.at_least_ns =
        std::min(fit->ns, fit->start_ns + std::exp2(reach_of(*fit->range)) * work_ns);
  }
  return answer;
}

std::optional<NearestMeasurement> ThreadCountEstimates::nearest(const CostKey& key,
                                                                bool on_host) const {
  std::optional<NearestMeasurement> best;
  for (const auto& [seen, cost] : regime_.measured_where(on_host)) {
    if (seen.op != key.op || cost.ns <= 0) continue;
    const double away = distance(seen, key);
    // Equally near ones must not depend on the hash table's order.
    const bool is_nearer = !best || std::tie(away, seen.dtype, seen.dims) <
                                        std::tie(best->doublings, best->key.dtype, best->key.dims);
    if (is_nearer) best = NearestMeasurement{seen, cost.count, away};
  }
  return best;
}

std::string basis_text(const CostKey& key, const std::optional<NearestMeasurement>& nearest) {
  if (!nearest) return "nothing of its kind was measured";
  const std::string seen = "measured " + plural(nearest->count, "time");
  if (nearest->key == key) return seen;
  return "nearest " + text(nearest->key) + ", " + to_fixed(nearest->doublings, 1) +
         " doublings away, " + seen;
}

}  // namespace foreshard::simulator
