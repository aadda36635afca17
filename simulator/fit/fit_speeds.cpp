#include "simulator/fit/fit_speeds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "simulator/costs/key_facts.hpp"

namespace foreshard::simulator {
namespace {

// One cost key as one recording saw it.
struct Sight {
  std::size_t run = 0;
  std::size_t key = 0;
  double log_ns = 0;
  double weight = 0;  // time that went into it
};

// The value on either side of which half of the weight lies.
double weighted_median(std::vector<std::pair<double, double>>& values) {
  std::sort(values.begin(), values.end());
  double all = 0, sum = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (2 * sum >= all) return value;
  }
  return 0;
}

// Every cost key of some recordings that more than one of them saw.
class SharedKeys {
 public:
  void add(std::size_t run, const RunSamples& samples) {
    std::map<std::pair<std::int32_t, bool>, std::vector<double>> times;
    for (const TaskSample& task : samples.tasks) {
      const CostKey& key = samples.keys[static_cast<std::size_t>(task.key)];
      // An accelerator is not slow where its host is, or where others share the link.
      if (samples.is_accelerator && (task.on_host || is_transfer(key.op))) continue;
      if (task.ns > 0 && !task.may_have_waited) times[{task.key, task.on_host}].push_back(task.ns);
    }
    for (auto& [what, values] : times) {
      const CostKey& key = samples.keys[static_cast<std::size_t>(what.first)];
      auto& numbers = numbers_[what.second ? 1 : 0];
      const std::size_t number = numbers.try_emplace(key, seen_by_.size()).first->second;
      if (number == seen_by_.size()) seen_by_.push_back(0);
      ++seen_by_[number];
      double weight = 0;
      for (const double ns : values) weight += ns;
      sights_.push_back({run, number, std::log(quantile(values, 0.5)), weight});
      time_of_[run] += weight;
    }
  }

  // Logarithms of the runs' slowness that explain best, key by key, what they have in common;
  // nothing for runs that share no key.
  std::map<std::size_t, double> solve() {
    std::erase_if(sights_, [&](const Sight& sight) { return seen_by_[sight.key] < 2; });
    std::map<std::size_t, double> slowness;
    for (const Sight& sight : sights_) slowness[sight.run] = 0;
    constexpr int kRounds = 30;  // far more than alternating medians of a few runs need
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::pair<double, double>> means(seen_by_.size());  // sum, weight
      for (const Sight& sight : sights_) {
        means[sight.key].first += sight.weight * (sight.log_ns - slowness[sight.run]);
        means[sight.key].second += sight.weight;
      }
      std::map<std::size_t, std::vector<std::pair<double, double>>> misses;
      for (const Sight& sight : sights_) {
        const auto& [sum, weight] = means[sight.key];
        misses[sight.run].emplace_back(sight.log_ns - sum / weight, sight.weight);
      }
      double mean = 0;
      for (auto& [run, values] : misses) mean += slowness[run] = weighted_median(values);
      mean /= static_cast<double>(std::max<std::size_t>(1, misses.size()));
      for (auto& [run, value] : slowness) value -= mean;
    }
    // What little of a run others share may be slow for reasons of its own.
    constexpr double kDoubt = 0.05;  // of the run's time
    std::map<std::size_t, double> shared;
    for (const Sight& sight : sights_) shared[sight.run] += sight.weight / time_of_[sight.run];
    for (auto& [run, value] : slowness) value *= shared[run] / (shared[run] + kDoubt);
    return slowness;
  }

 private:
  std::unordered_map<CostKey, std::size_t, CostKeyHash> numbers_[2];  // on streams, on the host
  std::vector<int> seen_by_;
  std::map<std::size_t, double> time_of_;  // of each run's tasks
  std::vector<Sight> sights_;
};

}  // namespace

Speeds speeds_of(const std::vector<const RunSamples*>& runs) {
  Speeds speeds;
  speeds.slowness.assign(runs.size(), 1);
  std::map<std::pair<int, int>, SharedKeys> kinds;  // by threads and ranks
  for (std::size_t r = 0; r < runs.size(); ++r) {
    kinds[{runs[r]->threads, runs[r]->ranks}].add(r, *runs[r]);
  }
  double squares = 0;
  for (auto& [kind, keys] : kinds) {
    const auto slowness = keys.solve();
    for (const auto& [run, value] : slowness) {
      speeds.slowness[run] = std::exp(value);
      squares += value * value;
    }
    speeds.degrees += std::max(0, static_cast<int>(slowness.size()) - 1);
  }
  if (speeds.degrees > 0) speeds.spread = std::sqrt(squares / speeds.degrees);
  return speeds;
}

}  // namespace foreshard::simulator
