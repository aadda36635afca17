// foreshard train: really trains, and reports what it cost.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/host_memory_check.hpp"
#include "cli/train_processes.hpp"
#include "cli/train_report.hpp"
#include "executor/data/output_claim.hpp"
#include "executor/device/processor.hpp"
#include "executor/run/training.hpp"
#include "models/base/figures.hpp"
#include "models/lowering/lower.hpp"

namespace foreshard::cli {
namespace {

using executor::TrainingOptions;
using executor::TrainingResult;

struct Flags {
  JobFlags job;
  JsonOutput json;
  std::int64_t steps = 0;
  std::string device = "cpu", comm = "auto", data, init, device_memory, resume, save,
              export_weights, export_gradients, trace;
  std::uint64_t seed = 0;
  int threads = 0;
  double hang_timeout = 60;
  bool poisons = false;
} flags;

std::atomic<bool> interrupted{false};

// A second Ctrl-C does not wait. Launchers pass on as SIGTERM what a terminal has already sent to
// every process, so a SIGTERM is never the second.
volatile std::sig_atomic_t ctrl_c = 0;

extern "C" void on_interrupt(int signal) {
  if (signal == SIGINT && ctrl_c != 0) std::_Exit(130);
  if (signal == SIGINT) ctrl_c = 1;
  interrupted.store(true);
}

Result<void> check_words() {
  if (flags.device != "cpu") {
    return fail("", "--device", "'" + flags.device + "' cannot be trained on yet; expected cpu");
  }
  if (flags.steps < 1) return fail("", "--steps", "expected at least 1 step");
  if (flags.threads < 0 || flags.threads > 1024) {
    return fail("", "--threads-per-rank",
                std::to_string(flags.threads) + " threads cannot run; expected 1 to 1024");
  }
  if (!(flags.hang_timeout > 0) || flags.hang_timeout > 1e6) {
    return fail("", "--hang-timeout", "expected seconds above 0");
  }
  if (auto ok = check_trace_output(flags.trace, "--trace"); !ok) return ok;
  for (const auto& [path, flag] : {std::pair(&flags.export_weights, "--export-weights"),
                                   {&flags.export_gradients, "--export-gradients"}}) {
    if (auto ok = check_output(*path, flag); !ok) return ok;
  }
  if (!flags.save.empty()) {
    if (auto ok = executor::check_checkpoint_target(flags.save); !ok) return ok;
  }
  if (const auto& set = executor::requested_instruction_set(); !set) {
    return tl::unexpected(set.error());
  }
  return flags.json.check();
}

// What is about to compute, before anything does.
void announce(const Job& job, int threads) {
  const executor::InstructionSet set = executor::instruction_set();
  std::fprintf(stderr, "training on the CPU with %s: %d rank%s of %d thread%s\n",
               std::string(name(set)).c_str(), job.ranks, job.ranks == 1 ? "" : "s", threads,
               threads == 1 ? "" : "s");
  const executor::Processor& processor = executor::this_processor();
  if (job.plan.precision.param != DType::bf16 || executor::has_fast_bf16(processor, set)) return;
  const bool has_other =
      executor::has_fast_bf16(processor, executor::instruction_sets(processor).front());
  std::fprintf(stderr, "no fast bf16 %s: products run at the speed of fp32\n",
               has_other ? ("with " + std::string(name(set))).c_str() : "on this processor");
}

// Everything an error can come from, before anything is written.
struct Inputs {
  Job job;
  executor::TokenData data;
  executor::WeightSource weights;
  TrainingOptions options;
};

Result<Inputs> load_inputs() {
  if (auto ok = check_words(); !ok) return tl::unexpected(ok.error());
  auto job = flags.job.load();
  if (!job) return tl::unexpected(job.error());
  TrainingOptions options;
  options.steps = flags.steps;
  options.seed = flags.seed;
  options.data = flags.data;
  options.total_steps = flags.steps;
  if (!flags.resume.empty()) {
    auto checkpoint = executor::Checkpoint::open(flags.resume);
    if (!checkpoint) return tl::unexpected(checkpoint.error());
    if (auto ok = checkpoint->check_model(job->model, job->tree); !ok)
      return tl::unexpected(ok.error());
    if (auto ok = checkpoint->check_plan(job->plan); !ok) return tl::unexpected(ok.error());
    if (checkpoint->facts().step >= flags.steps) {
      return fail(flags.resume, "--steps",
                  "the checkpoint is of step " + std::to_string(checkpoint->facts().step) +
                      "; expected a later last step");
    }
    options.total_steps = checkpoint->facts().total_steps;
    options.resume = std::move(*checkpoint);
  }
  if (!flags.device_memory.empty()) {
    auto bytes = parse_bytes(flags.device_memory, "--device-memory");
    if (!bytes) return tl::unexpected(bytes.error());
    options.device_memory = *bytes;
  }
  const auto& batch = job->plan.batch;
  // Samples whose tokens are looked at before the run; 0: all.
  const auto before = options.resume ? options.resume->facts() : executor::CheckpointFacts{};
  const std::int64_t steps_left = flags.steps - before.step;
  const std::int64_t samples =
      steps_left > 1'000'000
          ? 0
          : before.samples + steps_left * batch.accumulation * batch.micro_batch * job->ranks;
  auto data =
      flags.data.empty()
          ? executor::TokenData::shipped_text(job->model.vocabulary, batch.sequence)
          : executor::TokenData::open(flags.data, job->model.vocabulary, batch.sequence, samples);
  if (!data) return tl::unexpected(data.error());
  auto weights =
      flags.init.empty()
          ? Result<executor::WeightSource>(executor::WeightSource::drawn(job->model, flags.seed))
          : executor::WeightSource::from_file(flags.init, job->model, job->tree);
  if (!weights) return tl::unexpected(weights.error());
  auto fault = executor::fault_from_environment();
  if (!fault) return tl::unexpected(fault.error());
  options.fault = *fault;
  options.threads_per_rank = flags.threads;
  options.hang_timeout = Nanoseconds(static_cast<std::int64_t>(flags.hang_timeout * 1e9));
  options.save = flags.save;
  options.export_weights = flags.export_weights;
  options.export_gradients = flags.export_gradients;
  options.trace = flags.trace;
  options.command = "foreshard train";
  options.poisons = flags.poisons;
  options.interrupt = &interrupted;
  return Inputs{std::move(*job), std::move(*data), std::move(*weights), std::move(options)};
}

// Of everything that decides what is computed and exchanged; equal builds hash alike. Not of paths,
// which may differ between nodes.
std::uint64_t hash_of(const Job& job, const RankProgram& program, const TrainingOptions& options) {
  std::string all = std::to_string(program_hash(program));
  all += to_json(job.model) + to_toml(job.plan);
  for (const std::string* path :
       {&options.save, &options.export_weights, &options.export_gradients, &options.trace}) {
    all += path->empty() ? '-' : '+';
  }
  for (const std::int64_t number : {static_cast<std::int64_t>(options.seed), options.steps,
                                    options.resume ? options.resume->facts().step : 0}) {
    all += '/' + std::to_string(number);
  }
  return std::hash<std::string>{}(all);
}

int finish(const Job& job, const TrainingResult& result, executor::Transport* transport) {
  if (result.oom) print_out_of_memory(result);
  const MemoryReport memory = memory_report(result, transport);
  if (transport == nullptr || transport->rank() == 0) {
    if (auto ok = flags.json.write(train_json(job, result, memory, flags.trace)); !ok) {
      return complain(ok.error(), kRunFailed);
    }
    if (!flags.json.is_standard_output()) {
      if (auto ok = show(train_summary(job, result)); !ok) return complain(ok.error(), kRunFailed);
    }
  }
  return result.ran_out_of_memory ? kOutOfMemory : kSuccess;
}

// While a run lasts, a signal ends it after the step at hand.
void catch_signals() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

// What follows a run may be ended at once, but not by the SIGTERM with which a launcher repeats what
// has ended it.
void release_signals() {
  std::signal(SIGINT, SIG_DFL);
  if (!interrupted) std::signal(SIGTERM, SIG_DFL);
}

// `claims` are to be on what is saved and recorded, in the process that makes it. The error is an exit
// status, after a complaint.
tl::expected<TrainingResult, int> train_here(Inputs& inputs, const RankProgram& program,
                                             const Processes& processes,
                                             std::vector<executor::OutputClaim>& claims) {
  const bool leads = processes.transport == nullptr || processes.transport->rank() == 0;
  for (const std::string& path : {flags.save, flags.trace}) {
    if (!leads || path.empty()) continue;
    auto taken = executor::OutputClaim::take(path);
    if (!taken) return tl::unexpected(complain(taken.error()));
    claims.push_back(std::move(*taken));
  }
  auto ok = check_host_memory(inputs.job, processes.ranks_here, inputs.options.device_memory);
  if (!ok) return tl::unexpected(complain(ok.error(), kRunFailed));
  if (leads) announce(inputs.job, inputs.options.threads_per_rank);
  catch_signals();
  Progress progress(inputs.options.steps);
  inputs.options.on_step = [&progress](const executor::StepReport& step) {
    progress.at(step.step, formatted("loss %.4f  grad norm %.3f  %s", step.loss, step.gradient_norm,
                                     duration((step.end - step.start).count()).c_str()));
  };
  for (const std::string& warning : inputs.job.warnings) warn(warning);
  for (const std::string& warning : program.warnings) warn(warning);
  auto result = executor::train(inputs.job, inputs.data, inputs.weights, inputs.options);
  release_signals();
  if (!result) return tl::unexpected(complain(result.error(), kRunFailed));
  if (result->failure) {
    return tl::unexpected(complain({"", "", result->failure->text()}, kRunFailed));
  }
  return std::move(*result);
}

}  // namespace

void add_train_flags(CLI::App& app) {
  flags.job.add_to(app);
  app.add_option("--steps", flags.steps, "number of the last step, counted from 1")
      ->required()
      ->type_name("S");
  app.add_option("--device", flags.device, "cpu")->type_name("D");
  app.add_option("--comm", flags.comm,
                 "auto (what the launcher calls for), local (ranks are threads), tcp or mpi "
                 "(processes)")
      ->type_name("C");
  app.add_option("--data", flags.data, "tokens: .npy, .bin or .txt; the shipped text when left out")
      ->type_name("F");
  app.add_option("--init", flags.init,
                 "first parameters: Hugging Face safetensors; drawn when left out")
      ->type_name("F");
  app.add_option("--seed", flags.seed, "seed of drawn parameters")->type_name("K");
  app.add_option("--device-memory", flags.device_memory, "memory of one rank, such as 2GiB")
      ->type_name("X");
  app.add_option("--threads-per-rank", flags.threads,
                 "threads of a rank's kernels; cores / ranks when left out")
      ->type_name("T");
  app.add_option("--hang-timeout", flags.hang_timeout, "seconds without progress that end the run")
      ->type_name("SECONDS");
  app.add_option("--resume", flags.resume, "checkpoint to go on from")->type_name("DIR");
  app.add_option("--save", flags.save, "checkpoint to write at the end")->type_name("DIR");
  app.add_option("--export-weights", flags.export_weights, "final parameters as fp32 safetensors")
      ->type_name("F");
  app.add_option("--export-gradients", flags.export_gradients,
                 "gradients of the first step, likewise")
      ->type_name("F");
  app.add_option("--trace", flags.trace, "record the run")->type_name("F");
  app.add_flag("--poison", flags.poisons,
               "overwrite memory the moment it is freed, to find misuse");
  flags.json.add_to(app);
}

int run_train() {
  auto inputs = load_inputs();
  if (!inputs) return complain(inputs.error());
  const RankProgram program = lower(inputs->job, 0);
  auto processes =
      join_processes(inputs->job, flags.comm, hash_of(inputs->job, program, inputs->options),
                     inputs->options.hang_timeout);
  if (!processes) return complain(processes.error());
  executor::Transport* const transport = processes->transport.get();
  inputs->options.transport = transport;
  inputs->options.cores = processes->cores;
  if (flags.threads == 0) inputs->options.threads_per_rank = processes->threads_per_rank;
  std::vector<executor::OutputClaim> claims;
  tl::expected<TrainingResult, int> result = tl::unexpected(kRunFailed);
  try {
    result = train_here(*inputs, program, *processes, claims);
  } catch (const std::exception& error) {
    complain(error);
  }
  if (result) return finish(inputs->job, *result, transport);
  if (transport != nullptr) {
    claims.clear();                    // an abort leaves no time for it
    transport->abort(result.error());  // the others may wait for this process
  }
  return result.error();
}

}  // namespace foreshard::cli
