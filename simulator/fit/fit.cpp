#include "simulator/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "models/base/figures.hpp"
#include "models/base/statistics.hpp"
#include "models/question/question_json.hpp"
#include "models/sharding/job.hpp"
#include "simulator/fit/fit_band.hpp"
#include "simulator/fit/fit_samples.hpp"
#include "simulator/fit/fit_speeds.hpp"
#include "simulator/fit/fit_tables.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::simulator {
namespace {

// A recorded run, and its job where the recording contains enough to simulate it.
struct Run {
  RunSamples samples;
  std::optional<Job> job;
  std::uint64_t content = 0;  // alike for copies of one recording
};

using Runs = std::vector<const Run*>;

std::optional<Job> job_of(const RunSamples& samples) {
  if (samples.model_json.empty() || samples.plan_toml.empty() || !samples.has_all_ranks) return {};
  const auto model = parse_llama_config(samples.model_json, samples.file);
  const auto plan = parse_plan(samples.plan_toml, samples.file);
  if (!model || !plan) return {};
  const auto job = make_job(*model, *plan, samples.file, samples.ranks, 0, nullptr, samples.device);
  if (!job) return {};
  return *job;
}

// A table predicts for threads = cores / ranks; runs with other threads cannot be simulated by it.
bool is_comparable(const Run& run) {
  return run.job && run.samples.step_ns > 0 &&
         run.samples.threads == threads_per_rank(run.samples.cores, run.samples.ranks);
}

constexpr std::int64_t kReplayedSteps = 3;

Prediction replay(const Run& run, const CostTable& table) {
  PredictionOptions options;
  options.steps = kReplayedSteps;
  options.costs = &table;
  return predict(*run.job, options);
}

// By threads per rank and number of ranks.
using Factors = std::map<std::pair<int, int>, double>;

std::pair<int, int> kind_of(const Run& run) {
  return {run.samples.threads, run.samples.ranks};
}

std::vector<const RunSamples*> samples_of_all(const Runs& runs) {
  std::vector<const RunSamples*> samples;
  for (const Run* run : runs) samples.push_back(&run->samples);
  return samples;
}

CostTable tables(const Runs& runs, const Speeds& speeds, Factors factors,
                 double memory_bytes_per_ns, const CostTable* known) {
  std::map<const RunSamples*, double> slow_down;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const double factor = factors.try_emplace(kind_of(*runs[r]), 1.0).first->second;
    slow_down[&runs[r]->samples] = factor * speeds.slowness[r];
  }
  CostTable table = fit_tables(
      samples_of_all(runs), [&](const RunSamples& run) { return slow_down.at(&run); },
      memory_bytes_per_ns, known);
  for (const auto& [kind, factor] : factors) {
    table.crowding.push_back({kind.first, kind.second, factor, 1});
  }
  const bool shows_speed = speeds.degrees > 0 || known == nullptr;
  table.slowness_spread = shows_speed ? speeds.spread : known->slowness_spread;
  return table;
}

// How much longer the tasks of runs with so many ranks take than by the fits of their regime,
// relative to the number of ranks that was recorded most. A single run may have been made while the
// machine was slow, so it is believed as far as numbers of ranks usually differ more than speeds do.
Factors crowding_of_tasks(const Runs& runs, const Speeds& speeds, const CostTable& table) {
  constexpr double kUsual = 0.1;  // logarithm of the factor: four ranks on two cores were 5 to 15 %
  struct Misses {
    double sum = 0, weight = 0;
    int runs = 0;
  };
  std::map<int, std::map<int, Misses>> misses;  // by threads, then ranks
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const RunSamples& samples = runs[r]->samples;
    const ThreadCountCosts* regime = table.regime(samples.threads);
    Misses& of_kind = misses[samples.threads][samples.ranks];
    ++of_kind.runs;
    for (const TaskSample& task : samples.tasks) {
      const CostKey& key = samples.keys[static_cast<std::size_t>(task.key)];
      const OperatorFit* fit = regime->fit_of(key, task.on_host);
      if (fit == nullptr || task.ns <= 0) continue;
      const double expected = fitted_ns(*fit, key) * speeds.slowness[r];
      if (expected <= 0) continue;
      of_kind.sum += task.ns * std::log(task.ns / expected);
      of_kind.weight += task.ns;
    }
  }
  Factors factors;
  for (const auto& [threads, by_ranks] : misses) {
    const auto most = std::max_element(
        by_ranks.begin(), by_ranks.end(),
        [](const auto& a, const auto& b) { return a.second.weight < b.second.weight; });
    if (most->second.weight <= 0) continue;
    const double base = most->second.sum / most->second.weight;
    for (const auto& [ranks, miss] : by_ranks) {
      if (miss.weight <= 0) continue;
      const double belief =
          kUsual * kUsual / (kUsual * kUsual + speeds.spread * speeds.spread / miss.runs);
      factors[{threads, ranks}] =
          std::clamp(std::exp(belief * (miss.sum / miss.weight - base)), 0.5, 2.0);
    }
  }
  return factors;
}

// What the sum of the parts misses of whole steps goes into the factors too: most of it is common to
// all numbers of ranks, and a single run shows little of its own.
void add_missing_time(const Runs& runs, const Speeds& speeds, CostTable& table) {
  constexpr double kDoubt = 1.0;  // in runs: how far a number of ranks is believed to be special
  std::map<std::pair<int, int>, std::vector<double>> misses;
  double all = 0, count = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Run& run = *runs[r];
    if (!is_comparable(run)) continue;
    const auto predicted = static_cast<double>(replay(run, table).step_time.count());
    if (predicted <= 0) continue;
    const double miss =
        std::log(static_cast<double>(run.samples.step_ns) / speeds.slowness[r] / predicted);
    misses[kind_of(run)].push_back(miss);
    all += miss;
    count += 1;
  }
  if (count == 0) return;
  const double common = all / count;
  for (Oversubscription& crowding : table.crowding) {
    double special = 0;
    const auto found = misses.find({crowding.threads, crowding.ranks});
    if (found != misses.end()) {
      for (const double miss : found->second) special += miss - common;
      special /= static_cast<double>(found->second.size()) + kDoubt;
    }
    crowding.missed = std::exp(common + special);
    crowding.factor *=
        std::clamp(crowding.missed, Oversubscription::kLeastMissed, Oversubscription::kMaxMissed);
  }
}

void warn_of_missing_time(const CostTable& table, std::vector<std::string>& warnings) {
  for (const Oversubscription& crowding : table.crowding) {
    if (!crowding.is_beyond_belief()) continue;
    warnings.push_back(formatted(
        "steps of %s with %s each take %.2f times the sum of their tasks; %.2f is used, so "
        "predictions of such runs are too %s",
        plural(crowding.ranks, "rank").c_str(), plural(crowding.threads, "thread").c_str(),
        crowding.missed,
        std::clamp(crowding.missed, Oversubscription::kLeastMissed, Oversubscription::kMaxMissed),
        crowding.missed > 1 ? "short" : "long"));
  }
}

// Hosts of accelerators. A recorder adds to each launch, and a launch behind others that are cached
// takes less than one on its own, so instructions' recorded times only say what they take beside each
// other. How much they take together is what the steps say that wait for the host.
void fit_host_to_steps(const Runs& runs, const Speeds& speeds, CostTable& table) {
  constexpr std::size_t kShortest = 3;  // runs: those whose devices have least to do
  constexpr double kChange = 0.05;      // of the host's times, to see what depends on them
  constexpr double kDependent = 0.3;    // of a step, so that it is no other's fault
  constexpr double kMostChange = 1.0;   // of the logarithm, at once
  constexpr int kRounds = 4;
  std::vector<std::pair<double, const Run*>> shortest;  // by the steps' times at the mean speed
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (!is_comparable(*runs[r])) continue;
    const auto step_ns = static_cast<double>(runs[r]->samples.step_ns);
    shortest.emplace_back(step_ns / speeds.slowness[r], runs[r]);
  }
  std::sort(shortest.begin(), shortest.end());
  if (shortest.size() > kShortest) shortest.resize(kShortest);
  std::vector<HostCosts> recorded;
  for (const ThreadCountCosts& regime : table.regimes) recorded.push_back(regime.host);
  double log_factor = 0;
  const auto set_host = [&](double log_of_host) {
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(kKinds); ++k) {
        table.regimes[i].host.issue_ns[k] =
            std::llround(std::exp(log_of_host) * static_cast<double>(recorded[i].issue_ns[k]));
      }
    }
  };
  const auto log_step = [&](const Run& run, double log_of_host) {
    set_host(log_of_host);
    return std::log(static_cast<double>(replay(run, table).step_time.count()));
  };
  for (int round = 0; round < kRounds; ++round) {
    double products = 0, squares = 0;
    for (const auto& [step_ns, run] : shortest) {
      const double now = log_step(*run, log_factor);
      const double dependent = (log_step(*run, log_factor + kChange) - now) / kChange;
      if (!(dependent > kDependent)) continue;
      products += dependent * (std::log(step_ns) - now);
      squares += dependent * dependent;
    }
    if (squares > 0) log_factor += std::clamp(products / squares, -kMostChange, kMostChange);
  }
  set_host(log_factor);
}

CostTable fit_runs(const Runs& runs, const Speeds& speeds, const CostTable* known) {
  // The limit that the known costs were freed from is that of all.
  const double memory =
      known != nullptr ? known->memory_bytes_per_ns : fit_memory_bandwidth(samples_of_all(runs));
  if (runs.front()->samples.is_accelerator) {
    CostTable table = tables(runs, speeds, {}, memory, known);
    fit_host_to_steps(runs, speeds, table);
    return table;
  }
  const Factors factors = crowding_of_tasks(runs, speeds, tables(runs, speeds, {}, memory, known));
  CostTable table = tables(runs, speeds, factors, memory, known);
  add_missing_time(runs, speeds, table);
  if (known != nullptr) add_crowding(*known, table);
  return table;
}

// One recording as all others predict it, at the mean speed of all.
void hold_out(const Runs& runs, const Speeds& speeds, const CostTable* known, std::size_t left_out,
              Calibration& result) {
  Runs others;
  double log_slowness = 0, alike = 0;  // of the others, at the speed of all
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (r == left_out) continue;
    others.push_back(runs[r]);
    if (kind_of(*runs[r]) != kind_of(*runs[left_out])) continue;
    log_slowness += std::log(speeds.slowness[r]);
    alike += 1;
  }
  const CostTable table = fit_runs(others, speeds_of(samples_of_all(others)), known);
  const Prediction prediction = replay(*runs[left_out], table);
  const auto predicted = static_cast<double>(prediction.step_time.count());
  if (predicted <= 0) return;
  const double at_mean_speed = alike > 0 ? std::exp(-log_slowness / alike) : 1;
  result.held_out_ns = std::llround(predicted * at_mean_speed);
  StepUncertainty of_costs = prediction.uncertainty;
  of_costs.left_out = {};
  result.held_out_uncertainty = std::sqrt(variance(of_costs, nullptr));
}

Result<void> check(const std::vector<Run>& runs) {
  if (runs.empty()) return fail("", "", "no recording given; expected at least one .fst file");
  for (const Run& run : runs) {
    if (run.samples.tasks.empty() && !run.samples.pytorch_host) {
      return fail(run.samples.file, "",
                  "contains no device work with a cost key; expected a recording of `foreshard "
                  "train`, or of "
                  "PyTorch's profiler with record_shapes");
    }
    if (run.samples.machine_name != runs[0].samples.machine_name ||
        run.samples.cores != runs[0].samples.cores) {
      return fail(run.samples.file, "cpu_model",
                  "was recorded on another machine (" + run.samples.machine_name + ") than " +
                      runs[0].samples.file + "; expected recordings of one machine");
    }
  }
  return {};
}

// One hash of two.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
  hash = (hash ^ more) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

// The same for the recording under another name, in another order or written again: of what
// happened when and where, and of nothing in the metadata. Times count from the first event's.
std::uint64_t content_of(const traces::Trace& trace) {
  std::int64_t origin = trace.events.empty() ? 0 : trace.events.front().start_ns;
  for (const traces::Event& event : trace.events) origin = std::min(origin, event.start_ns);
  const auto hash_of = [](std::initializer_list<std::int64_t> numbers) {
    std::uint64_t hash = 0;
    for (const std::int64_t n : numbers) hash = mixed(hash, static_cast<std::uint64_t>(n));
    return hash;
  };
  std::vector<std::int64_t> text;  // by id
  for (std::size_t id = 0; id < trace.strings.size(); ++id) {
    const std::string& string = trace.strings[static_cast<traces::StringId>(id)];
    text.push_back(static_cast<std::int64_t>(std::hash<std::string>{}(string)));
  }
  std::uint64_t sum = 0;
  for (const traces::Event& event : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    sum += hash_of({lane.rank, lane.device ? 1 : 0, event.step, event.start_ns - origin,
                    event.end_ns - origin, static_cast<std::int64_t>(event.kind),
                    text[static_cast<std::size_t>(event.cost_key)]});
  }
  for (const traces::Step& step : trace.steps) {
    sum += hash_of({step.rank, step.step, step.start_ns - origin, step.end_ns - origin});
  }
  return sum;
}

// Each recording once: given again, it would predict itself, and the band would be too narrow.
Runs different(const std::vector<Run>& all, const KnownCosts* known,
               std::vector<std::string>& warnings) {
  Runs runs;
  std::map<std::uint64_t, const Run*> seen;
  for (const Run& run : all) {
    const auto [first, is_new] = seen.try_emplace(run.content, &run);
    if (!is_new) {
      warnings.push_back(run.samples.file + ": is the same recording as " +
                         first->second->samples.file + " and was left out");
    } else if (known != nullptr && contains(*known, run.samples)) {
      warnings.push_back(run.samples.file + ": is part of " + known->file + " and was left out");
    } else {
      runs.push_back(&run);
    }
  }
  return runs;
}

}  // namespace

Result<FitResult> fit(const std::vector<Recording>& recordings, const KnownCosts* known) {
  std::vector<Run> all;
  for (const Recording& recording : recordings) {
    auto samples = samples_of(*recording.trace, recording.file);
    if (!samples) return tl::unexpected(samples.error());
    Run& run = all.emplace_back();
    run.samples = std::move(*samples);
    run.job = job_of(run.samples);
    run.content = content_of(*recording.trace);
  }
  if (const auto ok = check(all); !ok) return tl::unexpected<Error>(ok.error());
  FitResult result;
  const CostTable* table = known == nullptr ? nullptr : &known->table;
  if (known != nullptr) {
    if (auto ok = check_machine(*known, all.front().samples); !ok) {
      return tl::unexpected<Error>(ok.error());
    }
  }
  std::vector<std::string> questions;
  if (known != nullptr && !known->table.question.empty())
    questions.push_back(known->table.question);
  for (const Recording& recording : recordings) {
    questions.push_back(traces::recorded_question_json(recording.trace->metadata));
  }
  const Runs runs = different(all, known, result.warnings);
  if (runs.empty()) {
    return fail(known->file, "", "has all of these recordings; expected one that it lacks");
  }
  const Speeds speeds = speeds_of(samples_of_all(runs));
  result.table = fit_runs(runs, speeds, table);
  result.table.question = merged_question_json(questions);
  warn_of_missing_time(result.table, result.warnings);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Run& run = *runs[r];
    const RunSamples& samples = run.samples;
    Calibration c;
    c.trace = samples.file;
    c.model = run.job ? run.job->model.name : "";
    c.plan = samples.plan_toml;
    c.ranks = samples.ranks;
    c.threads = samples.threads;
    c.measured_ns = samples.step_ns;
    c.recorder_share = samples.recorder_share;
    c.slowness = speeds.slowness[r];
    if (samples.tasks_without_key > 0) {
      result.warnings.push_back(samples.file + ": " + std::to_string(samples.tasks_without_key) +
                                " of " +
                                std::to_string(samples.tasks_without_key +
                                               static_cast<std::int64_t>(samples.tasks.size())) +
                                " operations have no cost key and were not used");
    }
    if (is_comparable(run)) {
      c.fitted_ns = replay(run, result.table).step_time.count();
      if (runs.size() > 1) hold_out(runs, speeds, table, r, c);
    } else if (!samples.tasks.empty()) {
      result.warnings.push_back(samples.file +
                                ": could not be simulated, so it is not used to estimate "
                                "the error of predictions");
    }
    result.table.calibration.push_back(c);
  }
  if (known != nullptr) {
    const auto& earlier = known->table.calibration;
    result.table.calibration.insert(result.table.calibration.end(), earlier.begin(), earlier.end());
  }
  if (result.table.impossible_keys > 0) {
    result.warnings.push_back(std::to_string(result.table.impossible_keys) +
                              " cost keys took less time than the data sheet allows, so the "
                              "recordings lack part of their work; they were not used");
  }
  const Band band = band_of(result.table);
  result.table.band = band.half_width;
  result.table.uncertainty_scale = band.uncertainty_scale;
  return result;
}

}  // namespace foreshard::simulator
