// foreshard calibrate: measures this machine by short training runs and writes its costs.
#include <chrono>
#include <cmath>
#include <optional>

#include "cli/commands.hpp"
#include "cli/common/host_memory_check.hpp"
#include "cli/common/output.hpp"
#include "cli/common/progress.hpp"
#include "cli/gpus.hpp"
#include "cli/interruption.hpp"
#include "executor/communication/transport.hpp"
#include "executor/device/processor.hpp"
#include "executor/run/training.hpp"
#include "models/base/figures.hpp"
#include "models/base/statistics.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"
#include "simulator/calibrate/calibrate.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/input/temporary_folder.hpp"
#include "traces/processors.hpp"

namespace foreshard::cli {
namespace {

using MaybeTrace = Result<std::optional<traces::Trace>>;

// What runs on the GPUs of this machine need.
struct GpuRuns {
  Gpus gpus;
  Processes processes;
  std::unique_ptr<profiler::ActivityRecorder> activities;
};

Result<GpuRuns> gpu_runs(bool uses_nccl) {
  auto gpus = gpus_of_this_machine();
  if (!gpus) return tl::unexpected(gpus.error());
  auto activities = profiler::load_activity_recorder(executor::module_directory());
  if (!activities) return tl::unexpected(activities.error());
  GpuRuns runs{std::move(*gpus), {}, std::move(*activities)};
  runs.processes.uses_nccl = uses_nccl;
  return runs;
}

class Calibrate : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  // Ranks by default: all GPUs, or twice as many as the processor has cores, up to 8, since more ranks
  // than cores is what models of several ranks are usually tried with on one machine.
  int most_ranks(const std::optional<GpuRuns>& gpus) const;

  Result<void> check_communicator(const std::optional<GpuRuns>& gpus) const;

  std::string costs_, device_ = "cpu", comm_ = "local";
  std::optional<int> ranks_;
  double time_limit_ = 240;  // seconds
  bool report_ = false, is_quiet_ = false;
};

// Trains random weights for so many steps, with a recording unless `file` is empty. Nothing where
// memory is too small, or where it was interrupted.
Result<std::optional<executor::TrainingResult>> trained(const Job& job, std::int64_t steps,
                                                        const std::optional<GpuRuns>& gpus,
                                                        const std::string& file) {
  executor::TrainingOptions options;
  options.steps = options.total_steps = steps;
  options.cores = traces::cores();
  options.threads_per_rank = std::max(1, options.cores / job.ranks);
  options.trace = file;
  options.command = "foreshard calibrate";
  options.interrupt = &interruption();
  options.ends_within_step = true;
  if (gpus) {
    if (!file.empty()) options.activities = gpus->activities.get();
    if (auto ok = use(gpus->gpus, gpus->processes, job, options); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  if (!check_host_memory(job, job.ranks, options.device_memory)) return std::nullopt;
  const auto data =
      executor::TokenData::shipped_text(job.model.vocabulary, job.plan.batch.sequence);
  if (!data) return tl::unexpected(data.error());
  const auto weights = executor::WeightSource::drawn(job.model, options.seed);
  auto result = executor::train(job, *data, weights, options);
  if (!result) return tl::unexpected(result.error());
  if (result->failure) return fail("", "", result->failure->text());
  if (result->not_finite) return fail("", "", *result->not_finite);
  if (!result->lost.empty()) return tl::unexpected(result->lost.front());
  if (result->ran_out_of_memory || result->was_interrupted) return std::nullopt;
  return std::move(*result);
}

// Of the steps after the first three, which create state and touch memory for the first time.
double median_step_ns(const executor::TrainingResult& result) {
  constexpr std::size_t kFirst = 3;
  std::vector<double> times;
  for (std::size_t s = kFirst; s < result.steps.size(); ++s) {
    times.push_back(static_cast<double>((result.steps[s].end - result.steps[s].start).count()));
  }
  return median(std::move(times));
}

// A recording. CUPTI makes every launch longer, and where these decide a step is recorded as too
// long: the same steps without a recording show how much. Large models are not trained twice, as
// drawing weights takes long and their steps wait for the device. The recording comes first: CUPTI
// does not attribute the launches of libraries that a process used before CUPTI was enabled.
MaybeTrace recorded(const Job& job, std::int64_t steps, const std::optional<GpuRuns>& gpus,
                    const std::string& file) {
  constexpr std::int64_t kMostParameters = 100'000'000;
  const auto result = trained(job, steps, gpus, file);
  if (!result) return tl::unexpected(result.error());
  if (!*result) return std::nullopt;
  auto trace = traces::read_fst(file);
  if (!trace) return tl::unexpected(trace.error());
  if (!gpus) return std::move(*trace);
  double share = 0;
  if (job.model.parameters() <= kMostParameters) {
    const auto unrecorded = trained(job, steps, gpus, "");
    if (!unrecorded) return tl::unexpected(unrecorded.error());
    if (!*unrecorded) return std::nullopt;
    share = std::max(0.0, 1 - median_step_ns(**unrecorded) / median_step_ns(**result));
  }
  trace->metadata["recorder_overhead_fraction"] = formatted("%.6f", share);
  return std::move(*trace);
}

int Calibrate::most_ranks(const std::optional<GpuRuns>& gpus) const {
  if (ranks_) return *ranks_;
  if (gpus) return static_cast<int>(gpus->gpus.devices.size());
  constexpr int kMost = 8;
  return std::min(kMost, 2 * traces::cores());
}

// NCCL refuses ranks that share a GPU.
Result<void> Calibrate::check_communicator(const std::optional<GpuRuns>& gpus) const {
  if (comm_ != "nccl") return {};
  if (!gpus) return fail("", "--comm", "nccl is of GPUs; expected --device cuda");
  const auto count = static_cast<int>(gpus->gpus.devices.size());
  if (most_ranks(gpus) <= count) return {};
  return fail("", "--ranks",
              "NCCL needs a GPU for each rank, of which this machine has " + std::to_string(count) +
                  "; expected fewer ranks, or --comm local");
}

Result<int> Calibrate::run() {
  if (auto ok = check_output(costs_, "-o"); !ok) return tl::unexpected(ok.error());
  if (const auto& set = executor::requested_instruction_set(); !set) {
    return tl::unexpected(set.error());
  }
  std::optional<GpuRuns> gpus;
  if (device_ == "cuda") {
    auto found = gpu_runs(comm_ == "nccl");
    if (!found) return complain(found.error(), kRunFailed);
    gpus = std::move(*found);
  }
  if (auto ok = check_communicator(gpus); !ok) return tl::unexpected(ok.error());
  if (gpus && most_ranks(gpus) > static_cast<int>(gpus->gpus.devices.size())) {
    warn(
        "ranks that share a GPU slow each other down, and predictions take each to have its own: "
        "costs of several ranks are too high");
  }
  const traces::TemporaryFolder folder("calibrate");
  if (!folder.exists()) {
    return complain({"", "", "no temporary folder can be made; expected TMPDIR to be writable"},
                    kRunFailed);
  }
  constexpr int kPercent = 100;
  Progress progress(kPercent, is_quiet_);
  simulator::CalibrationOptions options;
  options.limits = {most_ranks(gpus), gpus ? gpus->gpus.devices[0].traits : DeviceTraits{}};
  options.time = Nanoseconds(std::llround(time_limit_ * 1e9));
  options.on_run = [&](int percent, const std::string& next) { progress.at(percent, next); };
  options.interrupt = &interruption();
  simulator::CalibratedMachine machine;
  machine.now = [] { return Nanoseconds(std::chrono::steady_clock::now().time_since_epoch()); };
  machine.record = [&](const Job& job, std::int64_t steps) -> MaybeTrace {
    const std::string file = folder.file("run.fst");
    auto trace = recorded(job, steps, gpus, file);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    return trace;
  };
  catch_signals();
  const auto result = simulator::calibrate(machine, options);
  release_signals(false);
  if (!result) return complain(result.error(), kRunFailed);
  progress.at(kPercent, "");
  const auto saved = simulator::save_cost_table(result->table, costs_);
  for (const std::string& warning : result->warnings) warn(warning);
  if (!saved || !report_) return written(saved);
  return written(show(simulator::fit_report(result->table)));
}

CommandText Calibrate::text() const {
  return {
      "calibrate",
      "Training",
      "measure this machine's operators, copies and collectives",
      "Trains small models of several widths with several plans, for a few steps each, and fits "
      "a cost model to what was recorded. `foreshard predict --costs` then predicts other "
      "models and plans on this machine; `foreshard fit --with` adds recordings of your own, "
      "which are more accurate for models like theirs. Nothing else should run meanwhile.",
      {"foreshard calibrate -o costs.json",
       "foreshard calibrate -o costs.json --device cuda --time-limit 120"}};
}

void Calibrate::add_to(Options& options) {
  options.output("-o,--output", costs_, {"COSTS", "cost file to write (JSON)", true});
  options.choice("--device", device_, {"cpu", "cuda"}, {"DEVICE", "device to measure"});
  options.choice("--comm", comm_, {"local", "nccl"},
                 {"COMM", "how ranks communicate: local for ranks that may share a GPU, or nccl"});
  options.whole_number("--ranks", ranks_, {1, 1024},
                       {"RANKS", "most ranks of a run; each power of two up to it is measured",
                        false, "2 x cores up to 8, or the number of GPUs"});
  options.number("--time-limit", time_limit_, 1e6,
                 {"SECONDS", "stop measuring after about SECONDS"});
  options.flag("--report", report_, "print the fitted costs and their errors");
  options.quiet(is_quiet_);
}

}  // namespace

std::unique_ptr<Command> make_calibrate() {
  return std::make_unique<Calibrate>();
}

}  // namespace foreshard::cli
