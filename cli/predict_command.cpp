// foreshard predict: memory and step time of a job, before it runs.
#include <algorithm>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/common/cost_sources.hpp"
#include "cli/common/job_options.hpp"
#include "cli/common/output.hpp"
#include "cli/gpus.hpp"
#include "models/base/figures.hpp"
#include "models/hardware/device_names.hpp"
#include "models/sharding/job.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/fit/narrowing.hpp"
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

struct Sources {
  std::optional<simulator::CostTable> costs;
  std::optional<Machine> machine;
};

class Predict : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<Sources> load_sources() const;
  Result<void> check_sources(const Sources& sources, const Job& job) const;
  Result<void> check_options() const;
  traces::HistoryOrigin origin_of(const Job& job, const Prediction& prediction) const;
  Result<void> write_history(const Job& job, const Prediction& prediction) const;
  Result<void> write_answers(const Job& job, const Prediction& prediction) const;

  JobOptions job_;
  AttentionChoice attention_;
  JsonOutput json_;
  std::int64_t steps_ = 2;
  bool explains_ = false;
  int rank_ = 0;
  std::string device_ = "cpu", costs_, machine_, trace_, memory_events_, memory_snapshot_;
  std::optional<std::int64_t> device_memory_;
  double storage_gb_s_ = 0;
};

Result<Sources> Predict::load_sources() const {
  Sources sources;
  if (!costs_.empty()) {
    auto costs = simulator::load_cost_table(costs_);
    if (!costs) return tl::unexpected(costs.error());
    sources.costs = std::move(*costs);
  }
  // Observed steps are of a machine of the catalogue.
  const auto& rates = sources.costs ? sources.costs->rates : std::nullopt;
  const std::string id = machine_.empty() && rates ? rates->machine : machine_;
  if (!id.empty()) {
    auto machine = load_machine(id);
    if (!machine) return tl::unexpected(machine.error());
    sources.machine = std::move(*machine);
  }
  return sources;
}

// The one that was named, or that the recordings are of.
std::optional<Machine> device_of(const Sources& sources) {
  if (sources.machine || !sources.costs || !sources.costs->is_accelerator) return sources.machine;
  return machine_reported_as(sources.costs->machine_name);
}

// Ranks of the job that share a node, against what a node of the machine holds.
Result<void> check_nodes(const Job& job, const Machine& machine) {
  const std::int64_t on_a_node = job.nodes > 0 ? job.ranks / job.nodes : 0;
  if (on_a_node <= machine.gpus_per_node) return {};
  return fail("", "--nodes",
              "--ranks " + std::to_string(job.ranks) + " on --nodes " + std::to_string(job.nodes) +
                  " are " + std::to_string(on_a_node) + " ranks a node, but " + machine.id +
                  " has " + std::to_string(machine.gpus_per_node) + "; expected at least " +
                  std::to_string(ceil_divide(job.ranks, machine.gpus_per_node)) + " nodes");
}

// The recordings and the machine speak of the same kind of thing, and the job fits onto it.
Result<void> Predict::check_sources(const Sources& sources, const Job& job) const {
  if (sources.costs && sources.machine) {
    auto ok = check_costs_are_of(*sources.machine, *sources.costs, costs_);
    if (!ok) return ok;
  }
  const std::optional<Machine> device = device_of(sources);
  return device ? check_nodes(job, *device) : Result<void>();
}

Result<void> Predict::check_options() const {
  if (rank_ >= job_.ranks) {
    return fail("", "--rank",
                std::to_string(rank_) + " is not a rank of the job; expected 0 to " +
                    std::to_string(job_.ranks - 1));
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
  simulator::PredictionOptions options;
  options.steps = steps_;
  options.device_memory = device_memory_;
  auto sources = load_sources();
  if (!sources) return tl::unexpected(sources.error());
  const std::optional<Machine> device = device_of(*sources);
  const auto own = own_device(device_, attention_, device);
  if (!own) return tl::unexpected(own.error());
  auto job = job_.load(device ? &*device : nullptr, *own);
  if (!job) return tl::unexpected(job.error());
  if (auto ok = check_options(); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_sources(*sources, *job); !ok) return tl::unexpected(ok.error());
  options.costs = sources->costs ? &*sources->costs : nullptr;
  options.machine = sources->machine ? &*sources->machine : nullptr;
  options.wants_path = options.wants_explanation = options.wants_time_basis = true;
  options.keeps_memory_records =
      !trace_.empty() || !memory_events_.empty() || !memory_snapshot_.empty();
  Prediction prediction = simulator::predict(*job, options);
  if (explains_ && prediction.time_basis) {
    prediction.time_basis->narrowing = simulator::find_narrowing(*job, options, prediction);
  }
  if (explains_ || !prediction.fits) {
    prediction.remedies = simulator::find_remedies(*job, options, traces::cores());
  }
  prediction.checkpoint =
      simulator::checkpoint_cost(*job, device ? &*device : nullptr, storage_gb_s_ * 1e9);
  return written(write_answers(*job, prediction));
}

CommandText Predict::text() const {
  return {"predict",
          "Prediction",
          "predict peak memory and step time of a training job",
          "Memory is exact for Foreshard's own operators: the same allocator serves the same "
          "requests as in `foreshard train`. Step time comes from a cost file (--costs), from the "
          "published figures of a machine (--machine), or from both; without either it is that of "
          "a CPU like this one. A plan that does not fit is an answer: the exit status is 0.",
          {"foreshard predict --model llama-3.1-8b --ranks 8 --machine h100-sxm",
           "foreshard predict --model llama-3.1-8b --plan plan.toml --ranks 16 --nodes 2 "
           "--machine h100-sxm",
           "foreshard predict --model llama-small-14m --ranks 2 --costs costs.json --trace "
           "predicted.fst",
           "foreshard predict --model llama-3.1-8b --ranks 8 --machine h100-sxm "
           "--memory-snapshot rank0.pickle"}};
}

void Predict::add_to(Options& options) {
  job_.add_to(options);
  options.whole_number("--steps", steps_, {1, 100'000}, {"STEPS", "simulate steps 1 to STEPS"});
  options.choice(
      "--device", device_, {"cpu", "cuda"},
      {"DEVICE", "device that Foreshard's own operators run on; cuda is the GPU of the machine"});
  attention_.add_to(options);
  options.input("--costs", costs_, {"COSTS", "cost file that `foreshard fit` wrote"});
  options.machine(machine_, {"MACHINE",
                             "machine that `foreshard list machines` prints, or FILE.csv:ID for "
                             "one of your own"});
  options.size("--device-memory", device_memory_,
               {"SIZE", "memory of one device, such as 80GiB", false, "that of the machine"});
  options.number("--storage-bandwidth", storage_gb_s_, kMostStorage,
                 {"GB_S", "GB/s of the storage that all hosts write checkpoints to", false,
                  "each host's own, where the catalogue has it"});
  options.flag("--explain", explains_,
               "list what the step time rests on and what would narrow its band, all that holds "
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
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_predict() {
  return std::make_unique<Predict>();
}

}  // namespace foreshard::cli
