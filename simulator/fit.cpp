#include "simulator/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "simulator/fit_samples.hpp"
#include "simulator/fit_tables.hpp"
#include "simulator/prediction.hpp"

namespace foreshard::simulator {
namespace {

// A recorded run, and its job where the recording says enough to simulate it.
struct Run {
  RunSamples samples;
  std::optional<Job> job;
};

using Runs = std::vector<const Run*>;

std::optional<Job> job_of(const RunSamples& samples) {
  if (samples.model_json.empty() || samples.plan_toml.empty()) return {};
  const auto model = parse_llama_config(samples.model_json, samples.file);
  const auto plan = parse_plan(samples.plan_toml, samples.file);
  if (!model || !plan) return {};
  const auto job = make_job(*model, *plan, samples.file, samples.ranks);
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

using Factors = std::map<int, double>;  // by number of ranks

double factor_of(const Factors& factors, int ranks) {
  const auto found = factors.find(ranks);
  return found == factors.end() ? 1.0 : found->second;
}

CostTable tables(const Runs& runs, const Factors& factors) {
  std::vector<const RunSamples*> samples;
  for (const Run* run : runs) samples.push_back(&run->samples);
  CostTable table =
      fit_tables(samples, [&](const RunSamples& run) { return factor_of(factors, run.ranks); });
  for (const Run* run : runs) {
    const int ranks = run->samples.ranks;
    const bool is_known = std::any_of(table.crowding.begin(), table.crowding.end(),
                                      [&](const Crowding& c) { return c.ranks == ranks; });
    if (!is_known) table.crowding.push_back({ranks, factor_of(factors, ranks)});
  }
  return table;
}

// How much longer the tasks of runs with so many ranks take than the fits of their regime say,
// relative to the number of ranks that was recorded most.
Factors crowding_of_tasks(const Runs& runs, const CostTable& table) {
  std::map<int, std::map<int, std::pair<double, double>>> misses;  // threads, ranks: sum, weight
  for (const Run* run : runs) {
    const Regime* regime = table.regime(run->samples.threads);
    for (const TaskSample& task : run->samples.tasks) {
      const CostKey& key = run->samples.keys[static_cast<std::size_t>(task.key)];
      const auto fit = std::find_if(
          regime->operators.begin(), regime->operators.end(), [&](const OperatorFit& f) {
            return f.op == key.op && f.dtype == key.dtype && f.on_host == task.on_host;
          });
      if (fit == regime->operators.end() || task.ns <= 0) continue;
      const double expected =
          fit->overhead_ns + fit->ns_per_flop * flops(key) + fit->ns_per_byte * bytes_moved(key);
      if (expected <= 0) continue;
      auto& [sum, weight] = misses[run->samples.threads][run->samples.ranks];
      sum += task.ns * std::log(task.ns / expected);
      weight += task.ns;
    }
  }
  Factors factors;
  for (const auto& [threads, by_ranks] : misses) {
    const auto most = std::max_element(
        by_ranks.begin(), by_ranks.end(),
        [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    const double base = most->second.first / most->second.second;
    for (const auto& [ranks, miss] : by_ranks) {
      factors[ranks] = std::clamp(std::exp(miss.first / miss.second - base), 0.5, 2.0);
    }
  }
  return factors;
}

// What the sum of the parts misses of whole steps goes into the factors too: most of it is common to
// all numbers of ranks, and a single run says little about its own.
void add_missing_time(const Runs& runs, CostTable& table) {
  constexpr double kDoubt = 1.0;  // in runs: how far a number of ranks is believed to be special
  std::map<int, std::vector<double>> misses;
  double all = 0, count = 0;
  for (const Run* run : runs) {
    if (!is_comparable(*run)) continue;
    const auto predicted = replay(*run, table).step_time.count();
    if (predicted <= 0) continue;
    const double miss =
        std::log(static_cast<double>(run->samples.step_ns) / static_cast<double>(predicted));
    misses[run->samples.ranks].push_back(miss);
    all += miss;
    count += 1;
  }
  if (count == 0) return;
  const double common = all / count;
  for (Crowding& crowding : table.crowding) {
    double special = 0;
    const auto found = misses.find(crowding.ranks);
    if (found != misses.end()) {
      for (const double miss : found->second) special += miss - common;
      special /= static_cast<double>(found->second.size()) + kDoubt;
    }
    crowding.factor *= std::clamp(std::exp(common + special), 0.75, 1.33);
  }
}

CostTable fit_runs(const Runs& runs) {
  if (runs.front()->samples.is_accelerator) return tables(runs, {});
  const Factors factors = crowding_of_tasks(runs, tables(runs, {}));
  CostTable table = tables(runs, factors);
  add_missing_time(runs, table);
  return table;
}

// The run as a table made of all others says. Nothing where the others cannot know: another number
// of threads, or operators and types they never ran.
std::int64_t held_out_ns(const Runs& runs, const Run& left_out) {
  Runs others;
  for (const Run* run : runs) {
    if (run != &left_out) others.push_back(run);
  }
  const bool knows_threads = std::any_of(others.begin(), others.end(), [&](const Run* run) {
    return run->samples.threads == left_out.samples.threads;
  });
  if (!knows_threads) return 0;
  const Prediction prediction = replay(left_out, fit_runs(others));
  const SourceCounts& sources = prediction.cost_sources;
  if (sources.modelled + sources.unknown > 0) return 0;
  return prediction.step_time.count();
}

double relative_error(std::int64_t predicted, std::int64_t measured) {
  return static_cast<double>(predicted) / static_cast<double>(measured) - 1;
}

// 90 % of a normal distribution lie within 1.65 of its deviation; few runs know it badly, so it
// never becomes smaller than what repeated runs of one plan differ by.
double band_of(const std::vector<Calibration>& calibration) {
  constexpr double kLeast = 0.07;
  constexpr double kWithoutAnyRun = 0.35;  // as with a data sheet alone (machine_costs.cpp)
  double squares = 0, count = 0;
  for (const Calibration& c : calibration) {
    if (c.held_out_ns == 0 && c.fitted_ns == 0) continue;
    const std::int64_t predicted = c.held_out_ns != 0 ? c.held_out_ns : c.fitted_ns;
    const double error = relative_error(predicted, c.measured_ns);
    // A run far off belongs to a kind the others do not cover; it must not hide what they agree on.
    squares += std::min(error * error, 0.0225);
    count += 1;
  }
  if (count == 0) return kWithoutAnyRun;
  return std::max(kLeast, 1.65 * std::sqrt(squares / count));
}

Result<void> check(const std::vector<Run>& runs) {
  if (runs.empty()) return fail("", "", "no recording given; expected at least one .fst file");
  for (const Run& run : runs) {
    if (run.samples.tasks.empty()) {
      return fail(
          run.samples.file, "",
          "holds no device work with a cost key; expected a recording of `foreshard train`, or of "
          "PyTorch's profiler with record_shapes");
    }
    if (run.samples.cpu_model != runs[0].samples.cpu_model ||
        run.samples.cores != runs[0].samples.cores) {
      return fail(run.samples.file, "cpu_model",
                  "was recorded on another machine (" + run.samples.cpu_model + ") than " +
                      runs[0].samples.file + "; expected recordings of one machine");
    }
  }
  return {};
}

}  // namespace

Result<FitResult> fit(const std::vector<Recording>& recordings) {
  std::vector<Run> all;
  for (const Recording& recording : recordings) {
    Run& run = all.emplace_back();
    run.samples = samples_of(*recording.trace, recording.file);
    run.job = job_of(run.samples);
  }
  if (const auto ok = check(all); !ok) return tl::unexpected<Error>(ok.error());
  Runs runs;
  for (const Run& run : all) runs.push_back(&run);

  FitResult result;
  result.table = fit_runs(runs);
  for (const Run* run : runs) {
    const RunSamples& samples = run->samples;
    Calibration c;
    c.trace = samples.file;
    c.model = run->job ? run->job->model.name : "";
    c.plan = samples.plan_toml;
    c.ranks = samples.ranks;
    c.threads = samples.threads;
    c.measured_ns = samples.step_ns;
    if (samples.tasks_without_key > 0) {
      result.warnings.push_back(samples.file + ": " + std::to_string(samples.tasks_without_key) +
                                " of " +
                                std::to_string(samples.tasks_without_key +
                                               static_cast<std::int64_t>(samples.tasks.size())) +
                                " pieces of work have no cost key and taught nothing");
    }
    if (is_comparable(*run)) {
      c.fitted_ns = replay(*run, result.table).step_time.count();
      if (runs.size() > 1) c.held_out_ns = held_out_ns(runs, *run);
    } else {
      result.warnings.push_back(samples.file +
                                ": could not be simulated, so it says nothing about "
                                "the error of predictions");
    }
    result.table.calibration.push_back(c);
  }
  result.table.band = band_of(result.table.calibration);
  return result;
}

}  // namespace foreshard::simulator
