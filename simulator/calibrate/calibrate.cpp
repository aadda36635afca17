#include "simulator/calibrate/calibrate.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/figures.hpp"
#include "simulator/fit/nnls.hpp"

namespace foreshard::simulator {
namespace {

// Two steps that create state and touch memory for the first time, and two to take costs from.
constexpr std::int64_t kLeastSteps = 4;
constexpr std::int64_t kMostSteps = 12;
// Of the time that is left a run gets an equal part, or what the fewest steps take where that is not
// more than this share of it. Later runs are of larger models, which take longer.
constexpr double kMostOfTheRest = 0.5;

// How long a run takes: a constant for what every run sets up, and so much for each parameter drawn,
// each step and each operation of a step's products. Steps of small models take as long as what
// starts their operators, those of large ones as long as the operators.
class RunTimes {
 public:
  void add(const Job& job, std::int64_t steps, Nanoseconds took) {
    made_.push_back({terms_of(job, static_cast<double>(steps)), static_cast<double>(took.count())});
  }

  // Nanoseconds without any step, and of each step. Where the runs do not tell two terms apart the
  // first is taken for the cause: a run is rather estimated too short than never made.
  struct Estimate {
    double set_up = 0, step = 0;
    double run(std::int64_t steps) const { return set_up + static_cast<double>(steps) * step; }
  };
  Estimate estimate(const Job& job) const {
    std::vector<double> rows;
    for (const Run& run : made_) {
      for (const double term : run.terms) rows.push_back(term / run.took);
    }
    const std::vector<double> ones(made_.size(), 1);  // errors are relative
    const auto each = non_negative_least_squares(rows, static_cast<int>(kTerms), ones);
    const Terms of_job = terms_of(job, 1);
    return {each[0] * of_job[0] + each[1] * of_job[1],
            each[2] * of_job[2] + each[3] * of_job[3] + each[4] * of_job[4]};
  }

 private:
  static constexpr std::size_t kTerms = 5;
  using Terms = std::array<double, kTerms>;
  struct Run {
    Terms terms;
    double took;
  };
  static Terms terms_of(const Job& job, double steps) {
    const auto parameters = static_cast<double>(job.model.parameters());
    const bool offloads = job.plan.offload.parameters || job.plan.offload.optimizer;
    return {1, parameters, steps, steps * step_operations(job), offloads ? steps * parameters : 0};
  }

  std::vector<Run> made_;
};

// What a user would miss, "4 ranks, bf16": numbers of ranks and types of which no run was made.
std::string missing_from(const std::vector<CalibrationRun>& runs,
                         const std::vector<const CalibrationRun*>& made) {
  std::set<int> ranks;
  std::set<DType> types;
  for (const CalibrationRun* run : made) {
    ranks.insert(run->job.ranks);
    types.insert(run->job.plan.precision.param);
  }
  std::set<int> ranks_left;
  std::set<DType> types_left;
  for (const CalibrationRun& run : runs) {
    const DType type = run.job.plan.precision.param;
    if (!ranks.contains(run.job.ranks)) ranks_left.insert(run.job.ranks);
    if (!types.contains(type)) types_left.insert(type);
  }
  std::string missing;
  const auto add = [&](std::string_view what) {
    missing.append(missing.empty() ? "" : ", ").append(what);
  };
  for (const int count : ranks_left) add(plural(count, "rank"));
  for (const DType type : types_left) add(name(type));
  return missing;
}

bool is_set(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load();
}

}  // namespace

Result<FitResult> calibrate(const CalibratedMachine& machine, const CalibrationOptions& options) {
  const std::vector<CalibrationRun> runs = calibration_runs(options.limits);
  std::vector<std::unique_ptr<traces::Trace>> traces;
  std::vector<Recording> recordings;
  std::vector<const CalibrationRun*> made, left;
  for (const CalibrationRun& run : runs) left.push_back(&run);
  std::vector<Error> errors;
  std::vector<std::string> failed;
  RunTimes times;
  const Nanoseconds start = machine.now();
  while (!is_set(options.interrupt)) {
    const Nanoseconds before = machine.now();
    const auto rest = static_cast<double>((options.time - (before - start)).count());
    RunTimes::Estimate time;
    // The first is made whatever the time: no costs without any.
    const auto next = std::ranges::find_if(left, [&](const CalibrationRun* run) {
      time = times.estimate(run->job);
      return recordings.empty() || time.run(kLeastSteps) <= kMostOfTheRest * rest;
    });
    if (next == left.end()) break;
    const CalibrationRun& run = **next;
    const double part = rest / static_cast<double>(left.size());
    left.erase(next);
    const auto steps = time.step > 0
                           ? std::clamp(static_cast<std::int64_t>((part - time.set_up) / time.step),
                                        kLeastSteps, kMostSteps)
                           : kLeastSteps;
    const double done = 1 - rest / static_cast<double>(options.time.count());
    if (options.on_run) options.on_run(static_cast<int>(100 * done), run.description);
    auto trace = machine.record(run.job, steps);
    if (!trace) {
      errors.push_back(trace.error());
      failed.push_back(run.description + ": " + trace.error().text() + "; it was left out");
      continue;
    }
    if (!*trace) continue;
    times.add(run.job, steps, machine.now() - before);
    traces.push_back(std::make_unique<traces::Trace>(std::move(**trace)));
    recordings.push_back({run.description, traces.back().get()});
    made.push_back(&run);
  }
  if (recordings.empty()) {
    if (!errors.empty()) return tl::unexpected(errors.front());
    return is_set(options.interrupt)
               ? fail("", "", "was interrupted before anything was measured")
               : fail("", "", "no run fits into the memory of this machine; expected more of it");
  }
  auto fitted = fit(recordings);
  if (!fitted) return fitted;
  fitted->warnings.insert(fitted->warnings.end(), failed.begin(), failed.end());
  if (is_set(options.interrupt)) {
    fitted->warnings.push_back("was interrupted: the costs rest on " +
                               plural(std::ssize(recordings), "run"));
  }
  const std::string missing = missing_from(runs, made);
  if (!missing.empty()) {
    fitted->warnings.push_back("nothing was measured of " + missing +
                               ": predictions of those are estimates; give it more time");
  }
  return fitted;
}

}  // namespace foreshard::simulator
