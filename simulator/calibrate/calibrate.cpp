#include "simulator/calibrate/calibrate.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/figures.hpp"

namespace foreshard::simulator {
namespace {

// Two steps that create state and touch memory for the first time, and two to take costs from.
constexpr std::int64_t kLeastSteps = 4;
constexpr std::int64_t kMostSteps = 12;
// Of the time that is left a run gets an equal part, or what the fewest steps take where that is not
// more than this share of it. Later runs are of larger models, which take longer.
constexpr double kMostOfTheRest = 0.5;

// Nanoseconds of a step for each operation of its products, set-up included, as recent runs took.
class Pace {
 public:
  void add(double operations, std::int64_t steps, Nanoseconds took) {
    recent_.push_back(static_cast<double>(took.count()) /
                      (operations * static_cast<double>(steps)));
    constexpr std::size_t kRecent = 3;
    if (recent_.size() > kRecent) recent_.pop_front();
  }
  double step_ns(double operations) const {
    if (recent_.empty()) return 0;
    return operations * *std::max_element(recent_.begin(), recent_.end());
  }

 private:
  std::deque<double> recent_;
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
  std::vector<const CalibrationRun*> made;
  Pace pace;
  const Nanoseconds start = machine.now();
  for (std::size_t r = 0; r < runs.size() && !is_set(options.interrupt); ++r) {
    const CalibrationRun& run = runs[r];
    const Nanoseconds before = machine.now();
    const auto left = static_cast<double>((options.time - (before - start)).count());
    const double operations = step_operations(run.job);
    const double step_ns = pace.step_ns(operations);
    const bool is_first = recordings.empty();  // made whatever the time: no costs without any
    if (!is_first && static_cast<double>(kLeastSteps) * step_ns > kMostOfTheRest * left) continue;
    const double part = left / static_cast<double>(runs.size() - r);
    const auto steps =
        step_ns > 0 ? std::clamp(static_cast<std::int64_t>(part / step_ns), kLeastSteps, kMostSteps)
                    : kLeastSteps;
    const double done = 1 - left / static_cast<double>(options.time.count());
    if (options.on_run) options.on_run(static_cast<int>(100 * done), run.description);
    auto trace = machine.record(run.job, steps);
    if (!trace) return tl::unexpected(trace.error());
    if (!*trace) continue;
    pace.add(operations, steps, machine.now() - before);
    traces.push_back(std::make_unique<traces::Trace>(std::move(**trace)));
    recordings.push_back({run.description, traces.back().get()});
    made.push_back(&run);
  }
  if (recordings.empty()) {
    return is_set(options.interrupt)
               ? fail("", "", "was interrupted before anything was measured")
               : fail("", "", "no run fits into the memory of this machine; expected more of it");
  }
  auto fitted = fit(recordings);
  if (!fitted) return fitted;
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
