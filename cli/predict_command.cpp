// foreshard predict: memory and step time of a job, before it runs.
#include <algorithm>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "cli/common/question_options.hpp"
#include "cli/gpus.hpp"
#include "models/base/figures.hpp"
#include "models/sharding/job.hpp"
#include "simulator/fit/recommended_measurement.hpp"
#include "simulator/predict/allocation_history.hpp"
#include "simulator/predict/prediction_report.hpp"
#include "simulator/predict/remedies.hpp"
#include "traces/allocator/history_writer.hpp"
#include "traces/export/gzip_output.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/processors.hpp"
#include "traces/snapshot/history_snapshot.hpp"
#include "traces/snapshot/snapshot_writer.hpp"

namespace foreshard::cli {
namespace {

using simulator::Prediction;

constexpr double kMostStorage = 1e6;  // GB/s

class Predict : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<void> check_options(const Job& job) const;
  traces::HistoryOrigin origin_of(const Job& job, const Prediction& prediction) const;
  Result<void> write_history(const Job& job, const Prediction& prediction) const;
  Result<void> write_answers(const Job& job, const Prediction& prediction) const;

  QuestionOptions question_;
  AttentionChoice attention_;
  JsonOutput json_;
  std::int64_t steps_ = 2;
  bool explains_ = false;
  int rank_ = 0;
  std::string trace_, memory_events_, memory_snapshot_;
  std::optional<std::int64_t> device_memory_;
  double storage_gb_s_ = 0;
};

Result<void> Predict::check_options(const Job& job) const {
  if (rank_ >= job.ranks) {
    return fail("", "--rank",
                std::to_string(rank_) + " is not a rank of the job; expected 0 to " +
                    std::to_string(job.ranks - 1));
  }
  if (auto ok = check_trace_output(trace_, "--trace"); !ok) return ok;
  if (auto ok = check_output(memory_events_, "--memory-events"); !ok) return ok;
  if (auto ok = check_output(memory_snapshot_, "--memory-snapshot"); !ok) return ok;
  return json_.check();
}

traces::HistoryOrigin Predict::origin_of(const Job& job, const Prediction& prediction) const {
  traces::HistoryOrigin origin{job.model.name, job.ranks, rank_, {}};
  for (const simulator::StepPeaks& step : prediction.steps_memory) {
    if (step.rank == rank_) origin.steps.push_back(step.peaks);
  }
  return origin;
}

Result<void> Predict::write_history(const Job& job, const Prediction& prediction) const {
  if (memory_events_.empty() && memory_snapshot_.empty()) return {};
  const traces::LabelledHistory history = simulator::allocation_history(prediction, rank_);
  const auto write = [](const std::string& path, const char* option, const auto& produce) {
    if (path.empty()) return Result<void>();
    return write_output(path, option, traces::packed_as_named(path, produce));
  };
  const auto events = write(memory_events_, "--memory-events", [&](std::ostream& out) {
    traces::write_allocator_history(origin_of(job, prediction), history, out);
  });
  if (!events) return events;
  return write(memory_snapshot_, "--memory-snapshot", [&](std::ostream& out) {
    traces::write_snapshot(traces::snapshot_of(history), out);
  });
}

Result<void> Predict::write_answers(const Job& job, const Prediction& prediction) const {
  if (auto ok = write_history(job, prediction); !ok) return ok;
  if (!trace_.empty()) {
    auto ok = traces::write_fst(trace_, simulator::to_trace(job, prediction, "foreshard predict"));
    if (!ok) return ok;
  }
  const auto done = json_.answer(simulator::prediction_json(job, prediction),
                                 simulator::prediction_text(job, prediction, explains_));
  if (!done || json_.is_standard_output()) return done;
  for (const std::string& warning : prediction.warnings) warn(warning);
  return {};
}

Result<int> Predict::run() {
  const auto asked = question_.load(own_device_by(attention_));
  if (!asked) return tl::unexpected(asked.error());
  const Job& job = asked->job;
  if (auto ok = check_options(job); !ok) return tl::unexpected(ok.error());
  simulator::PredictionOptions options = asked->prediction_options();
  options.steps = steps_;
  options.device_memory = device_memory_;
  options.wants_path = options.wants_explanation = options.wants_time_basis = true;
  options.keeps_memory_records =
      !trace_.empty() || !memory_events_.empty() || !memory_snapshot_.empty();
  Prediction prediction = simulator::predict(job, options);
  if (explains_ && prediction.time_basis) {
    prediction.time_basis->recommended = simulator::recommend_measurement(job, options, prediction);
  }
  if (explains_ || !prediction.fits) {
    prediction.remedies = simulator::find_remedies(job, options, traces::cores());
  }
  prediction.checkpoint =
      simulator::checkpoint_cost(job, job.machine ? &*job.machine : nullptr, storage_gb_s_ * 1e9);
  return written(write_answers(job, prediction));
}

CommandText Predict::text() const {
  return {
      "predict",
      "Prediction",
      "predict peak memory and step time of a training job",
      "Memory is exact for Foreshard's own operators: the same allocator serves the same "
      "requests as in `foreshard train`. Step time comes from a cost file (--costs), from the "
      "published figures of a machine (--machine), or from both; without either it is that of "
      "a CPU like this one. Where the machine has GPUs, what runs is PyTorch unless the plan or "
      "--operators says otherwise. The first lines restate the request and what was assumed; "
      "--question repeats it. The exit status is 0 also for a plan that does not fit.",
      {"foreshard predict --model llama-3.1-8b --ranks 8 --machine h100-sxm",
       "foreshard predict --model llama-3.1-8b --plan plan.toml --ranks 16 --nodes 2 "
       "--machine h100-sxm",
       "foreshard predict --model llama-small-14m --ranks 2 --costs costs.json --trace "
       "predicted.fst",
       "foreshard predict --model llama-3.1-8b --ranks 8 --machine h100-sxm "
       "--memory-snapshot rank0.pickle"}};
}

void Predict::add_to(Options& options) {
  question_.add_to(options);
  question_.add_device_to(options);
  attention_.add_to(options);
  question_.add_costs_to(options);
  options.whole_number("--steps", steps_, {1, kMostAskedSteps},
                       {"STEPS", "simulate steps 1 to STEPS"});
  options.size("--device-memory", device_memory_,
               {"SIZE", "memory of one device, such as 80GiB", false, "that of the machine"});
  options.number("--storage-bandwidth", storage_gb_s_, kMostStorage,
                 {"GB_S", "GB/s of the storage that all hosts write checkpoints to", false,
                  "each host's own, where the catalogue has it"});
  options.flag("--explain", explains_,
               "list what the step time rests on and the recommended measurement, all that holds "
               "memory at the peak, the plan changes that save most, and what checkpoints cost");
  options.output("--trace", trace_, {"TRACE", "write the predicted run as a trace (.fst)"});
  options.output(
      "--memory-events", memory_events_,
      {"FILE", "write the allocation history of one rank as JSON lines (.gz: compressed)"});
  options.output("--memory-snapshot", memory_snapshot_,
                 {"FILE",
                  "write it as a CUDA memory snapshot (pickle), for PyTorch's memory_viz "
                  "(.gz: compressed)"});
  options.whole_number("--rank", rank_, {0, 999'999},
                       {"RANK", "rank of --memory-events and --memory-snapshot"});
  options.quiet(question_.is_quiet);
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_predict() {
  return std::make_unique<Predict>();
}

}  // namespace foreshard::cli
