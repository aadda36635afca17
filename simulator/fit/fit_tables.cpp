#include "simulator/fit/fit_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "models/hardware/device_names.hpp"
#include "simulator/costs/data_sheet.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/fit/fit_operators.hpp"
#include "simulator/fit/known_costs.hpp"
#include "simulator/fit/recorded_host.hpp"

namespace foreshard::simulator {
namespace {

double slowed(const TaskSample& sample, double bandwidth) {
  return bandwidth > 0 ? std::max(1.0, (sample.bytes_per_ns + sample.beside) / bandwidth) : 1.0;
}

// How equal tasks' times differ, as far as their keys were seen often enough to tell.
class EqualTasks {
 public:
  explicit EqualTasks(const std::vector<const RunSamples*>& runs) {
    constexpr std::size_t kEnough = 4;
    for (const RunSamples* run : runs) {
      std::vector<std::vector<Task>> by_key(run->keys.size());
      for (const TaskSample& task : run->tasks) {
        if (task.ns <= 0) continue;
        const double moved = task.bytes_per_ns + task.beside;
        by_key[static_cast<std::size_t>(task.key)].push_back({std::log(task.ns), std::log(moved)});
      }
      for (std::vector<Task>& tasks : by_key) {
        if (tasks.size() >= kEnough) by_key_.push_back(std::move(tasks));
      }
    }
  }

  // Sum over keys of squared log deviations from the key's median, were this the bandwidth.
  double unexplained(double bandwidth) {
    const double log_bandwidth =
        bandwidth > 0 ? std::log(bandwidth) : std::numeric_limits<double>::infinity();
    double sum = 0;
    for (const std::vector<Task>& tasks : by_key_) {
      logs_.clear();
      for (const Task& task : tasks) {
        logs_.push_back(task.log_ns - std::max(0.0, task.log_moved - log_bandwidth));
      }
      const double middle = quantile(logs_, 0.5);
      // Single disturbed tasks must not decide.
      for (const double x : logs_) sum += std::min(0.09, (x - middle) * (x - middle));
    }
    return sum;
  }

 private:
  struct Task {
    double log_ns;
    double log_moved;  // bytes per nanosecond, with what ran beside it
  };
  std::vector<std::vector<Task>> by_key_;
  std::vector<double> logs_;
};

// What was seen of one cost key.
struct KeySamples {
  std::vector<double> times;
  std::vector<double> with_waiting;  // of collectives whose last arriver may not be among the ranks
  std::size_t size() const { return times.size() + with_waiting.size(); }
};
using ByNodes = std::map<std::int64_t, KeySamples>;  // of a collective's group

// Samples of equal keys in equal places and regimes, over all runs.
using Samples = std::unordered_map<CostKey, ByNodes, CostKeyHash>;

// Of what lies between the twentieths at either end.
double mean_of_most(std::vector<double>& values) {
  constexpr double kLeftOut = 0.05;
  std::sort(values.begin(), values.end());
  const auto out = static_cast<std::ptrdiff_t>(kLeftOut * static_cast<double>(values.size()));
  const auto first = values.begin() + out, last = values.end() - out;
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

// The median on processors, which others disturb. A device's kernels are slower only beside each other: a
// step takes the sum of them, and that has the mean. Of collectives seen from some of their ranks only the
// quickest times are those where no rank that is missing came later.
// Groups of as many ranks over other nodes are others: those seen most stand for the key.
MeasuredCost summary(const CostKey& key, ByNodes& all, bool is_device_work) {
  const auto most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  KeySamples& samples = most->second;
  constexpr double kQuickest = 0.1;
  const bool is_sure = !samples.times.empty();
  std::vector<double>& values = is_sure ? samples.times : samples.with_waiting;
  const bool has_mean = is_device_work && is_sure && !is_transfer(key.op);
  const double ns = has_mean ? mean_of_most(values) : quantile(values, is_sure ? 0.5 : kQuickest);
  return {ns, std::ssize(values), most->first};
}

// What a host thread pays where no recording shows it: assumed figures of a server core.
constexpr double kIssueGuess = 300, kBookkeepingGuess = 60, kLatencyGuess = 8000, kGapGuess = 300;

double middle_of(std::vector<double> values, double fallback) {
  return values.empty() ? fallback : quantile(values, 0.5);
}

std::vector<double> joined(const std::vector<const RunSamples*>& runs, const auto& member) {
  std::vector<double> all;
  for (const RunSamples* run : runs) {
    const std::vector<double>& some = member(*run);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

SegmentTimes segment_times(const std::vector<const RunSamples*>& runs) {
  auto allocs = joined(
      runs, [](const RunSamples& run) -> auto& { return run.segments.alloc_ns; });
  auto frees = joined(
      runs, [](const RunSamples& run) -> auto& { return run.segments.free_ns; });
  return {quantile(allocs, 0.5), quantile(frees, 0.5), std::ssize(allocs), std::ssize(frees)};
}

// And the number of samples it rests on.
void fit_host(const std::vector<const RunSamples*>& runs, ThreadCountCosts& regime) {
  HostCosts& host = regime.host;
  host.uses_core = true;
  for (std::size_t k = 0; k < static_cast<std::size_t>(kKinds); ++k) {
    const bool is_work = runs_on_stream(static_cast<Kind>(k));
    const auto all = joined(
        runs, [&](const RunSamples& run) -> auto& { return run.issue[k]; });
    host.issue_ns[k] = std::llround(middle_of(all, is_work ? kIssueGuess : kBookkeepingGuess));
    regime.host_samples.issue[k] = std::ssize(all);
  }
  // Waiting for a core looks like rendezvous; the quicker meetings are the undisturbed ones.
  constexpr struct {
    std::vector<double> RunSamples::*samples;
    double quantile, fallback;
  } kLatencies[] = {{&RunSamples::launch_latency, 0.5, kLatencyGuess},
                    {&RunSamples::stream_gap, 0.5, kGapGuess},
                    {&RunSamples::event_latency, 0.5, kLatencyGuess},
                    {&RunSamples::wait_latency, 0.5, kLatencyGuess},
                    {&RunSamples::rendezvous, 0.25, 0}};
  static_assert(std::size(kLatencies) == kHostLatencies.size());
  for (std::size_t i = 0; i < kHostLatencies.size(); ++i) {
    const auto& of = kLatencies[i];
    auto all = joined(
        runs, [&](const RunSamples& run) -> auto& { return run.*of.samples; });
    host.*kHostLatencies[i] = std::llround(all.empty() ? of.fallback : quantile(all, of.quantile));
    regime.host_samples.latencies[i] = std::ssize(all);
  }
}

}  // namespace

double fit_memory_bandwidth(const std::vector<const RunSamples*>& runs) {
  double highest = 0;
  for (const RunSamples* run : runs) {
    for (const TaskSample& task : run->tasks)
      highest = std::max(highest, task.bytes_per_ns + task.beside);
  }
  if (highest <= 0) return 0;
  constexpr double kLeastGain = 0.03;  // of what no limit leaves unexplained
  EqualTasks tasks(runs);
  double best = 0, least = tasks.unexplained(0) * (1 - kLeastGain);
  for (double bandwidth = highest; bandwidth > highest / 64; bandwidth /= 1.15) {
    const double left = tasks.unexplained(bandwidth);
    if (left < least) least = left, best = bandwidth;
  }
  return best;
}

CostTable fit_tables(const std::vector<const RunSamples*>& runs,
                     const std::function<double(const RunSamples&)>& slow_down,
                     double memory_bytes_per_ns, const CostTable* known) {
  CostTable table;
  std::set<int> threads;
  for (const RunSamples* run : runs) {
    table.machine_name = run->machine_name;
    table.is_accelerator = run->is_accelerator;
    table.cores = std::max(table.cores, run->cores);
    threads.insert(run->threads);
  }
  std::optional<Machine> part;
  if (table.is_accelerator) {
    part = machine_reported_as(table.machine_name).value_or(fastest_machine());
  }
  const Machine* bound = part ? &*part : nullptr;
  table.segments = segment_times(runs);
  std::vector<RankStepTimes> rank_steps;
  for (const RunSamples* run : runs) rank_steps.push_back(run->rank_steps);
  table.variation = rank_variation(rank_steps);
  table.pytorch_host = host_of_all(runs);
  if (!table.pytorch_host && known != nullptr) table.pytorch_host = known->pytorch_host;
  table.memory_bytes_per_ns = memory_bytes_per_ns;
  for (const int count : threads) {
    ThreadCountCosts regime;
    regime.threads = count;
    std::vector<const RunSamples*> same;
    std::array<Samples, 2> samples;  // on streams, on the host
    for (const RunSamples* run : runs) {
      if (run->threads != count) continue;
      same.push_back(run);
      const double factor = slow_down(*run);
      for (const TaskSample& task : run->tasks) {
        KeySamples& of_key = samples[task.on_host ? 1 : 0]
                                    [run->keys[static_cast<std::size_t>(task.key)]][task.nodes];
        const double ns = task.ns / slowed(task, table.memory_bytes_per_ns) / factor;
        (task.may_have_waited ? of_key.with_waiting : of_key.times).push_back(ns);
      }
    }
    for (const bool on_host : {false, true}) {
      MeasuredCosts& costs = on_host ? regime.measured_on_host : regime.measured;
      for (auto& [key, values] : samples[on_host ? 1 : 0]) {
        const bool is_device_work = bound != nullptr && !on_host;
        const MeasuredCost cost = summary(key, values, is_device_work);
        if (is_device_work && is_impossible(cost.ns, key, *bound, nodes_of(cost, key, bound))) {
          ++table.impossible_keys;
          continue;
        }
        costs[key] = cost;
      }
    }
    fit_host(same, regime);
    table.regimes.push_back(std::move(regime));
  }
  if (known != nullptr) add_measured(*known, table);
  fit_operators(table.regimes, bound);
  return table;
}

}  // namespace foreshard::simulator
