// foreshard train: really trains, and reports what it cost.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/common/host_memory_check.hpp"
#include "cli/common/output.hpp"
#include "cli/common/progress.hpp"
#include "cli/common/question_options.hpp"
#include "cli/gpus.hpp"
#include "cli/interruption.hpp"
#include "cli/planned_outputs.hpp"
#include "cli/processes.hpp"
#include "cli/resumption.hpp"
#include "cli/same_job.hpp"
#include "executor/data/checkpoint_series.hpp"
#include "executor/data/model_folder.hpp"
#include "executor/data/output_claim.hpp"
#include "executor/device/processor.hpp"
#include "executor/run/step_log.hpp"
#include "executor/run/training.hpp"
#include "executor/run/training_report.hpp"
#include "models/base/atomic_file.hpp"
#include "models/base/figures.hpp"
#include "models/lowering/lower.hpp"
#include "models/program/attention_workspace.hpp"

namespace foreshard::cli {
namespace {

using executor::TrainingOptions;
using executor::TrainingResult;

constexpr int kEndedBySignal = 128;  // and the signal's number, as shells report it

void announce(const Job& job, const Gpus& gpus, const GpuLibraries& libraries) {
  std::fprintf(stderr, "training on %s: %d rank%s on %zu GPU%s\n%s\n", gpus.devices[0].name.c_str(),
               job.ranks, job.ranks == 1 ? "" : "s", gpus.devices.size(),
               gpus.devices.size() == 1 ? "" : "s", sentence(libraries).c_str());
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

class Train : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<void> check_options() const;
  Result<std::optional<executor::Checkpoint>> open_checkpoint() const;
  bool is_shuffled(const std::optional<executor::Checkpoint>& before) const;
  // Of a checkpoint that does not say what run it is of: as the one that is asked for.
  Result<executor::Checkpoint> of_this_run(const executor::Checkpoint& checkpoint, const Job& job,
                                           const TrainingOptions& options) const;
  Result<executor::TokenData> load_data(const Job& job,
                                        const std::optional<executor::Checkpoint>& before) const;
  Result<void> check_schedule(const OptimizerPlan& optimizer, std::int64_t total_steps) const;
  Result<Inputs> load_inputs(const DeviceTraits& own_device) const;
  // `claims` are to be on what is saved and recorded, in the process that makes it. The error is an exit
  // status, after a complaint.
  tl::expected<TrainingResult, int> train_here(Inputs& inputs, const RankProgram& program,
                                               const Processes& processes,
                                               const std::optional<Gpus>& gpus,
                                               std::vector<executor::OutputClaim>& claims) const;
  int finish(const Job& job, const TrainingResult& result, executor::Transport* transport) const;

  QuestionOptions question_;
  AttentionChoice attention_;
  JsonOutput json_;
  std::int64_t steps_ = 0;
  std::int64_t seed_ = -1, total_steps_ = 0, save_every_ = 0, keep_ = 0,
               resume_step_ = 0;  // not given
  std::int64_t most_skipped_ = 0;
  std::string device_ = "cpu", precision_ = "highest", comm_ = "auto", cuda_graphs_ = "auto", data_,
              data_type_, init_, resume_, save_, save_format_, log_, export_weights_, export_dtype_,
              export_gradients_, trace_;
  std::optional<std::int64_t> device_memory_;
  std::optional<int> threads_;
  double hang_timeout_ = 60;
  bool poisons_ = false, tunes_ = false, shuffles_ = false;
};

std::int64_t samples_per_step(const Job& job) {
  const BatchPlan& batch = job.plan.batch;
  return batch.accumulation * batch.micro_batch * job.ranks;
}

// The exit status of all processes of an interrupted run, which call it together: an output that one has
// lost fails the run, and a signal that one has got ended it. Launchers end the others when one ends with
// an error, so none goes before all have written theirs.
int agreed_status(int mine, executor::Transport* transport) {
  if (transport == nullptr) return mine;
  executor::RunControl control(transport->size());
  std::vector<int> all;
  for (const std::string& status : exchange(control, *transport, std::to_string(mine))) {
    all.push_back(std::stoi(status));
  }
  return std::ranges::count(all, kRunFailed) > 0 ? kRunFailed : std::ranges::max(all);
}

Result<void> Train::check_options() const {
  if (auto ok = check_trace_output(trace_, "--trace"); !ok) return ok;
  for (const auto& [path, flag] :
       {std::pair(&log_, "--log"), {&export_gradients_, "--export-gradients"}}) {
    if (auto ok = check_output(*path, flag); !ok) return ok;
  }
  const auto exported = executor::names_model_folder(export_weights_)
                            ? executor::check_model_folder_target(export_weights_)
                            : check_output(export_weights_, "--export-weights");
  if (!exported) return exported;
  if (!export_dtype_.empty() && export_weights_.empty()) {
    return fail("", "--export-dtype",
                "is given without --export-weights; expected a file or folder to write");
  }
  if (!data_type_.empty() && data_.empty()) {
    return fail("", "--data-type", "is given without --data; expected a file that it is of");
  }
  if (!save_format_.empty() && save_.empty()) {
    return fail("", "--save-format", "is given without --save; expected a folder to save to");
  }
  if (resume_step_ > 0 && resume_.empty()) {
    return fail("", "--resume-step", "is given without --resume; expected a checkpoint of it");
  }
  if (save_every_ > 0 && save_.empty()) {
    return fail("", "--save-every", "is given without --save; expected a folder to save to");
  }
  if (keep_ > 0 && save_every_ == 0) {
    return fail("", "--keep", "is given without --save-every; expected both, or neither");
  }
  if (!save_.empty() && save_every_ == 0) {
    if (auto ok = executor::check_checkpoint_target(save_); !ok) return ok;
  }
  if (precision_ == "high" && device_ != "cuda") {
    return fail("--matmul-precision", "high",
                "is computed by GPUs only; expected highest, or --device cuda");
  }
  if (cuda_graphs_ == "on" && device_ != "cuda") {
    return fail("", "--cuda-graphs", "the CPU has no graphs; expected --device cuda");
  }
  if (tunes_ && device_ != "cuda") {
    return fail("", "--tune", "times kernels of GPUs; expected --device cuda");
  }
  if (auto ok = attention_.check(device_); !ok) return ok;
  if (const auto& set = executor::requested_instruction_set(); !set) {
    return tl::unexpected(set.error());
  }
  return json_.check();
}

Result<std::optional<executor::Checkpoint>> Train::open_checkpoint() const {
  if (resume_.empty()) return std::nullopt;
  if (!init_.empty()) {
    return fail("", "--init",
                "cannot be combined with --resume: the weights are the checkpoint's; expected one "
                "of them");
  }
  auto checkpoint = checkpoint_to_resume(resume_, steps_, resume_step_);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  if (!checkpoint->has_run()) {
    for (const auto& [given, flag] : {std::pair(&question_.plan, "--plan"), {&data_, "--data"}}) {
      if (!given->empty()) continue;
      return fail(checkpoint->index_file(), flag,
                  "is not given, and a checkpoint that another program has written does not say "
                  "it; expected --plan and --data");
    }
  }
  return std::move(*checkpoint);
}

Result<executor::Checkpoint> Train::of_this_run(const executor::Checkpoint& checkpoint,
                                                const Job& job,
                                                const TrainingOptions& options) const {
  executor::RunState state;
  state.step = checkpoint.state().step;
  state.total_steps = options.total_steps;
  state.seed = options.seed;
  state.is_shuffled = options.shuffles;
  state.samples = state.step * samples_per_step(job);
  state.ranks = job.ranks;
  state.nodes = job.nodes;
  state.plan = to_toml(job.plan);
  state.model = to_json(job.model);
  const auto with_tokens = checkpoint.of_run(state);
  const auto data = load_data(job, with_tokens);
  if (!data) return tl::unexpected(data.error());
  state.data = data->identity();
  return checkpoint.of_run(state);
}

// A run that was shuffled stays so.
bool Train::is_shuffled(const std::optional<executor::Checkpoint>& before) const {
  return shuffles_ || (before && before->state().is_shuffled);
}

// The samples that are left are looked at before the run, unless they are very many or any may be among them.
Result<executor::TokenData> Train::load_data(
    const Job& job, const std::optional<executor::Checkpoint>& before) const {
  const BatchPlan& batch = job.plan.batch;
  const std::string& path = data_.empty() && before ? before->state().data.path : data_;
  if (path.empty()) {
    return executor::TokenData::shipped_text(job.model.vocabulary, batch.sequence);
  }
  const std::int64_t steps_done = before ? before->state().step : 0;
  const std::int64_t samples_done = before ? before->state().samples : 0;
  const std::int64_t steps_left = steps_ - steps_done;
  constexpr std::int64_t kAll = 0, kVeryMany = 1'000'000;
  const std::int64_t samples = steps_left > kVeryMany || is_shuffled(before)
                                   ? kAll
                                   : samples_done + steps_left * samples_per_step(job);
  const std::string& type = data_.empty() && before ? before->state().data.type : data_type_;
  auto data = executor::TokenData::open(path, job.model.vocabulary, batch.sequence, samples,
                                        executor::raw_type_named(type));
  if (!data) return data;
  const std::int64_t in_step = samples_per_step(job);
  if (data->samples() < in_step) {
    warn(path + ": has " + std::to_string(data->samples()) + " samples of " +
         std::to_string(batch.sequence) + " tokens, fewer than the " + std::to_string(in_step) +
         " of a step: they are repeated within each step");
  }
  return data;
}

// Behind its end a schedule's rate is zero, and steps would change nothing, unless the plan has a least rate.
// A decay whose length the plan states is the plan's own affair.
Result<void> Train::check_schedule(const OptimizerPlan& optimizer, std::int64_t total_steps) const {
  if (optimizer.schedule == Schedule::constant || optimizer.decay_steps > 0) return {};
  if (steps_ <= total_steps) return {};
  if (optimizer.min_lr > 0) {
    warn("the learning rate's schedule ends at step " + std::to_string(total_steps) +
         "; later steps have optimizer.min_lr");
    return {};
  }
  return fail(resume_, "--steps",
              "is " + std::to_string(steps_) + ", but the learning rate's schedule ends at step " +
                  std::to_string(total_steps) +
                  "; expected no later step, or --total-steps with the schedule's new length");
}

Result<Inputs> Train::load_inputs(const DeviceTraits& own_device) const {
  if (auto ok = check_options(); !ok) return tl::unexpected(ok.error());
  auto checkpoint = open_checkpoint();
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  auto& before = *checkpoint;
  const std::int64_t steps_done = before ? before->state().step : 0;
  if (save_every_ > 0) {
    auto ok = executor::check_series_target(save_, steps_done);
    if (!ok) return tl::unexpected(ok.error());
  }
  if (!log_.empty()) {
    if (auto ok = executor::StepLog::check(log_, steps_done); !ok)
      return tl::unexpected(ok.error());
  }
  std::optional<ConvertedPlan> stored_plan;
  if (before && before->has_run()) {
    auto parsed = parse_any_plan(before->state().plan, before->index_file());
    if (!parsed) return tl::unexpected(parsed.error());
    stored_plan = std::move(*parsed);
  }
  auto asked = question_.load(
      [&](const auto&, const auto&) { return Result<DeviceTraits>(own_device); }, stored_plan);
  if (!asked) return tl::unexpected(asked.error());
  Job* const job = &asked->job;
  if (job->plan.operators != OperatorSetName::foreshard) {
    return fail(question_.plan, "operators",
                "are described for predictions; expected \"foreshard\", which can be run");
  }
  if (tunes_ && job->plan.pytorch.deterministic) {
    return fail("", "--tune",
                "takes the kernels that happen to be the quickest, which may be others in the next "
                "run; expected it without determinism");
  }
  TrainingOptions options;
  options.steps = steps_;
  options.seed = seed_ >= 0 ? static_cast<std::uint64_t>(seed_) : before ? before->state().seed : 0;
  options.shuffles = is_shuffled(before);
  options.total_steps = total_steps_ > 0              ? total_steps_
                        : before && before->has_run() ? before->state().total_steps
                                                      : steps_;
  if (precision_ == "high") options.matmul_precision = executor::MatmulPrecision::high;
  if (before) {
    if (auto ok = before->check_model(job->model, job->tree); !ok)
      return tl::unexpected(ok.error());
    if (auto ok = before->check_plan(job->tree, job->plan); !ok) return tl::unexpected(ok.error());
  }
  if (auto ok = check_schedule(job->plan.optimizer, options.total_steps); !ok) {
    return tl::unexpected(ok.error());
  }
  options.device_memory = device_memory_;
  if (before && !before->has_run()) {
    auto known = of_this_run(*before, *job, options);
    if (!known) return tl::unexpected(known.error());
    before = std::move(*known);
  }
  auto data = load_data(*job, before);
  if (!data) return tl::unexpected(data.error());
  options.resume = before;
  if (before) {
    auto ok = check_continues(initial_state(*job, *data, options), *before);
    if (!ok) return tl::unexpected(ok.error());
  }
  auto weights =
      init_.empty()
          ? Result<executor::WeightSource>(executor::WeightSource::drawn(job->model, options.seed))
          : executor::WeightSource::from_file(init_, job->model, job->tree);
  if (!weights) return tl::unexpected(weights.error());
  auto fault = executor::fault_from_environment();
  if (!fault) return tl::unexpected(fault.error());
  options.fault = *fault;
  options.threads_per_rank = threads_.value_or(0);
  options.hang_timeout = Nanoseconds(static_cast<std::int64_t>(hang_timeout_ * 1e9));
  options.save = save_;
  options.save_every = save_every_;
  for (const auto format : executor::kCheckpointFormats) {
    if (save_format_ == name(format)) options.save_format = format;
  }
  if (auto ok = check_format(options.save_format, job->model, job->tree); !ok) {
    return tl::unexpected(ok.error());
  }
  if (keep_ > 0) options.keep = keep_;
  options.log = log_;
  options.most_skipped = most_skipped_;
  options.export_weights = export_weights_;
  if (!export_dtype_.empty()) options.export_dtype = *dtype_named(export_dtype_);
  options.export_gradients = export_gradients_;
  options.trace = trace_;
  options.command = "foreshard train";
  options.poisons = poisons_;
  options.uses_graphs = device_ == "cuda" && cuda_graphs_ != "off";
  options.tests_graphs = options.uses_graphs && cuda_graphs_ == "auto";
  options.tunes_products = tunes_;
  options.interrupt = &interruption();
  return Inputs{std::move(*job), std::move(*data), std::move(*weights), std::move(options)};
}

int Train::finish(const Job& job, const TrainingResult& result,
                  executor::Transport* transport) const {
  if (result.oom) std::fputs(executor::out_of_memory_text(result).c_str(), stderr);
  const std::string memory = executor::memory_json(result, transport);
  bool is_complete = result.lost.empty();  // each of which has been told
  const auto note = [&is_complete](const Result<void>& done) {
    if (done) return;
    complain(done.error());
    is_complete = false;
  };
  if (transport == nullptr || transport->rank() == 0) {
    note(json_.write_members([&](std::ostream& out) {
      executor::write_training_json(out, job, result, memory, trace_);
    }));
    if (!json_.is_standard_output()) note(show(executor::training_text(job, result)));
  }
  if (result.not_finite) complain({"", "", *result.not_finite});
  const int signal = result.was_interrupted ? interrupting_signal() : 0;
  const int status = result.ran_out_of_memory            ? kOutOfMemory
                     : result.not_finite || !is_complete ? kRunFailed
                     : signal != 0                       ? kEndedBySignal + signal
                                                         : kSuccess;
  return result.was_interrupted ? agreed_status(status, transport) : status;
}

tl::expected<TrainingResult, int> Train::train_here(
    Inputs& inputs, const RankProgram& program, const Processes& processes,
    const std::optional<Gpus>& gpus, std::vector<executor::OutputClaim>& claims) const {
  const bool leads = processes.transport == nullptr || processes.transport->rank() == 0;
  for (const std::string& path : {save_, log_, trace_}) {
    if (!leads || path.empty() || is_written_through(path)) continue;
    auto taken = executor::OutputClaim::take(path);
    if (!taken) return tl::unexpected(complain(taken.error()));
    claims.push_back(std::move(*taken));
  }
  if (leads && save_every_ > 0) {
    if (auto ok = executor::begin_series(save_); !ok) return tl::unexpected(complain(ok.error()));
  }
  if (leads) {
    if (auto ok = check_disk_space(planned_outputs(inputs.job, inputs.options)); !ok) {
      return tl::unexpected(complain(ok.error(), kRunFailed));
    }
  }
  auto ok = check_host_memory(inputs.job, processes.ranks_here, inputs.options.device_memory,
                              {variant_of(inputs.options), inputs.options.save_every > 0});
  if (!ok) return tl::unexpected(complain(ok.error(), kRunFailed));
  if (leads && !question_.is_quiet && gpus)
    announce(inputs.job, *gpus, *inputs.options.gpu_libraries);
  if (leads && !question_.is_quiet && !gpus) announce(inputs.job, inputs.options.threads_per_rank);
  catch_signals();
  Progress progress(inputs.options.steps, question_.is_quiet);
  const executor::SampleOrder order = *order_of(inputs.data, inputs.options);
  const std::int64_t in_step = samples_per_step(inputs.job), in_epoch = inputs.data.samples();
  inputs.options.on_step = [&, this](const executor::StepReport& step) {
    const std::int64_t done = order.samples_done + (step.step - order.steps_done) * in_step;
    const bool ends_epoch = done / in_epoch != (done - in_step) / in_epoch;
    if (ends_epoch && in_step <= in_epoch && !question_.is_quiet) {
      progress.make_room();
      note("epoch " + std::to_string(done / in_epoch) + " of the data ends in step " +
           std::to_string(step.step));
    }
    if (step.is_skipped && !question_.is_quiet) {
      progress.make_room();
      note("step " + std::to_string(step.step) + " updates nothing: " +
           formatted("the loss is %g and the gradient norm %g; skipped", step.loss,
                     step.gradient_norm) +
           " so far: " + std::to_string(step.skipped) + " of at most " +
           std::to_string(most_skipped_));
    }
    progress.at(step.step, formatted("loss %.4f  grad norm %.3f  %s", step.loss, step.gradient_norm,
                                     duration((step.end - step.start).count()).c_str()));
  };
  inputs.options.on_lost = [&progress](const Error& error) {
    progress.make_room();
    complain(error);
  };
  for (const std::string& warning : inputs.job.warnings) warn(warning);
  for (const std::string& warning : program.warnings) warn(warning);
  auto result = executor::train(inputs.job, inputs.data, inputs.weights, inputs.options);
  release_signals(result && result->was_interrupted);
  if (!result) return tl::unexpected(complain(result.error(), kRunFailed));
  for (const std::string& warning : result->warnings) warn(warning);
  if (result->failure) {
    return tl::unexpected(complain({"", "", result->failure->text()}, kRunFailed));
  }
  return std::move(*result);
}

Result<int> Train::run() {
  std::optional<Gpus> gpus;
  if (device_ == "cuda") {
    auto found = gpus_of_this_machine();
    if (!found) return complain(found.error(), kRunFailed);
    gpus = std::move(*found);
  }
  if (gpus && attention_.wish == "cudnn" && !gpus->devices[0].traits.has_fused_attention) {
    return fail(
        "--attention", "cudnn",
        "would be " + gpus->cuda->libraries().attention + "; expected cuDNN's libraries, or plain");
  }
  auto inputs = load_inputs(gpus ? attention_.apply(gpus->devices[0].traits) : DeviceTraits{});
  if (!inputs) return tl::unexpected(inputs.error());
  std::unique_ptr<profiler::ActivityRecorder> activities;
  if (gpus && !trace_.empty()) {
    auto loaded = profiler::load_activity_recorder(executor::module_directory());
    if (!loaded) return tl::unexpected(loaded.error());
    activities = std::move(*loaded);
    inputs->options.activities = activities.get();
  }
  const RankProgram program = lower(inputs->job, 0);
  auto processes = join_processes(inputs->job.ranks, comm_, gpus.has_value(),
                                  std::hash<std::string>{}(to_json(inputs->job.model)),
                                  inputs->options.hang_timeout);
  if (!processes) return tl::unexpected(processes.error());
  executor::Transport* const transport = processes->transport.get();
  if (transport != nullptr) {
    const auto comparison = compare_jobs(
        *transport, facts_of(inputs->job, inputs->data, inputs->weights, inputs->options));
    for (const Error& error : comparison.errors) complain(error);
    if (!comparison.is_same) return kBadInput;
  }
  if (gpus) {
    if (auto ok = use(*gpus, *processes, inputs->job, inputs->options); !ok) {
      return complain(ok.error(), kRunFailed);
    }
  }
  inputs->options.transport = transport;
  inputs->options.nodes = processes->nodes;
  inputs->options.cores = processes->cores;
  if (!threads_) inputs->options.threads_per_rank = processes->threads_per_rank;
  std::vector<executor::OutputClaim> claims;
  tl::expected<TrainingResult, int> result = tl::unexpected(kRunFailed);
  try {
    result = train_here(*inputs, program, *processes, gpus, claims);
  } catch (const std::exception& error) {
    complain(error);
  }
  if (activities && (transport == nullptr || transport->rank() == 0)) {
    for (const std::string& missing : activities->missing()) warn(missing);
  }
  if (result) return finish(inputs->job, *result, transport);
  if (transport != nullptr) {
    claims.clear();                    // an abort leaves no time for it
    transport->abort(result.error());  // the others may wait for this process
  }
  return result.error();
}

CommandText Train::text() const {
  return {"train",
          "Training",
          "train a model on this machine's CPU or GPUs, and record the run",
          "Ranks are threads of this process, or the processes that mpirun, torchrun or srun "
          "start. Ctrl-C or SIGTERM ends the run after the current step, with all requested files "
          "written and exit status 130 or 143.",
          {"foreshard train --model llama-tiny-3m --ranks 2 --steps 10 --trace run.fst",
           "mpirun -n 4 foreshard train --model llama-small-14m --plan plan.toml --ranks 4 "
           "--steps 20",
           "foreshard train --model ./my-llama --init ./my-llama/model.safetensors --data "
           "tokens.bin --ranks 2 --steps 100 --save checkpoint"}};
}

void Train::add_to(Options& options) {
  question_.add_job_to(options);
  options.whole_number(
      "--steps", steps_, {1, INT64_MAX},
      {"STEPS", "number of the last step, counted from 1 also after --resume", true});
  options.whole_number("--total-steps", total_steps_, {1, INT64_MAX},
                       {"STEPS", "length of the learning rate's schedule, also of one to resume",
                        false, "the first run's --steps"});
  options.choice("--device", device_, {"cpu", "cuda"}, {"DEVICE", "device to train on"});
  options.choice("--matmul-precision", precision_, {"highest", "high"},
                 {"PRECISION",
                  "of matrix products of fp32, as torch.set_float32_matmul_precision: highest uses "
                  "all bits, high rounds operands to TF32 (with --device cuda)"});
  options.choice("--comm", comm_, {"auto", "local", "tcp", "mpi", "nccl"},
                 {"COMM",
                  "how ranks communicate; auto is what the launcher provides, local runs ranks as "
                  "threads, tcp and mpi as processes, nccl as either with a GPU each"});
  options.choice("--cuda-graphs", cuda_graphs_, {"auto", "on", "off"},
                 {"CHOICE",
                  "whether identical steps are launched as CUDA graphs; auto tests at the start "
                  "of the run whether the GPU computes a small one rightly"});
  attention_.add_to(options);
  options.flag("--tune", tunes_,
               "time the first kernels that cuBLASLt offers for a matrix product, and take the "
               "quickest (with --device cuda)");
  options.input("--data", data_,
                {"FILE",
                 "training tokens: .npy, .bin (uint16 or uint32, also with llm.c's header), "
                 "datatrove's .ds or "
                 ".txt (bytes); a folder of such files, or a pattern in quotes, means all of "
                 "them in order",
                 false, "the checkpoint's, else a short text that is built in"});
  options.choice("--data-type", data_type_, {"uint16", "uint32"},
                 {"TYPE", "how wide the tokens of a .bin or .ds file that does not say it are",
                  false, "uint16, or uint32 for a vocabulary of more than 65536"});
  options.flag("--shuffle", shuffles_,
               "read the samples of each epoch in an order of its own, which the seed decides; a "
               "resumed run goes on with it");
  options.input("--init", init_,
                {"FILE", "initial weights: safetensors, or the index of several", false, "random"});
  options.whole_number("--seed", seed_, {0, INT64_MAX},
                       {"SEED", "seed of random weights and of the order of --shuffle", false,
                        "the checkpoint's, else 0"});
  options.size("--device-memory", device_memory_,
               {"SIZE", "memory limit of each rank, such as 2GiB", false, "none"});
  options.whole_number("--threads-per-rank", threads_, {1, 1024},
                       {"THREADS", "threads of each rank's kernels", false, "cores / ranks"});
  options.number("--hang-timeout", hang_timeout_, 1e6,
                 {"SECONDS", "abort after SECONDS without progress"});
  options.folder("--resume", resume_,
                 {"DIR",
                  "checkpoint to continue from, or the newest of a folder of them, with its plan, "
                  "data and seed where these are not "
                  "given"});
  options.whole_number("--resume-step", resume_step_, {1, INT64_MAX},
                       {"STEP",
                        "the step that a checkpoint to resume is of, where another program has "
                        "written it and no optimizer state says it",
                        false, "the checkpoint's"});
  options.folder("--save", save_,
                 {"DIR", "write a checkpoint at the end, also of a run that a signal ends"});
  options.choice("--save-format", save_format_, {"native", "dcp", "hf", "torchtitan"},
                 {"FORMAT",
                  "of checkpoints: native; dcp, PyTorch's, with transformers' names; hf, a Hugging "
                  "Face folder that can be resumed; torchtitan, PyTorch's for its trainer",
                  false, "native"});
  options.whole_number("--save-every", save_every_, {1, INT64_MAX},
                       {"STEPS",
                        "write a checkpoint every STEPS steps as well, while training goes on: to "
                        "DIR/step-<n> of --save",
                        false, "at the end alone, to DIR"});
  options.whole_number("--keep", keep_, {1, INT64_MAX},
                       {"COUNT", "checkpoints of --save-every that stay, the newest", false, "2"});
  options.whole_number(
      "--skip-non-finite", most_skipped_, {0, INT64_MAX},
      {"STEPS",
       "leave out the update of up to STEPS steps whose loss or gradient norm is "
       "not finite, those before the checkpoint counted; the next one ends the run"});
  options.output("--log", log_,
                 {"FILE",
                  "write each step as a line of JSON when it ends; a resumed run adds to the lines "
                  "up to its checkpoint"});
  options.output(
      "--export-weights", export_weights_,
      {"PATH",
       "write the final weights: to a safetensors file, or, where PATH has no suffix, to "
       "a Hugging Face folder"});
  options.choice("--export-dtype", export_dtype_, {"fp32", "bf16"},
                 {"DTYPE", "of the weights that are exported", false, "fp32"});
  options.output("--export-gradients", export_gradients_,
                 {"FILE", "write the gradients of the first step as fp32 safetensors"});
  options.output("--trace", trace_, {"TRACE", "record the run as a trace (.fst)"});
  options.flag("--poison", poisons_,
               "overwrite memory the moment it is freed, to find use after free");
  options.quiet(question_.is_quiet);
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_train() {
  return std::make_unique<Train>();
}

}  // namespace foreshard::cli
