#include "executor/run/rank_run.hpp"

#include <algorithm>
#include <cstring>

#include <pthread.h>
#include <sys/prctl.h>

#include "executor/cpu/cpu_device.hpp"
#include "executor/device/launch_check.hpp"
#include "executor/device/numa.hpp"
#include "executor/run/keeper.hpp"
#include "models/base/float_formats.hpp"
#include "models/lowering/lower.hpp"

namespace foreshard::executor {

void RunShared::look_for_interrupt() {
  if (options.interrupt != nullptr && options.interrupt->load()) agreements.last_step.ask();
}

bool RunShared::may_begin(std::int64_t step) {
  look_for_interrupt();
  return agreements.last_step.may_begin(step, run);
}

void RunShared::first_step_done() {
  const int here = options.transport == nullptr ? job.ranks : 1;
  if (++beyond_first_step == here) look_at_memory(MemoryMoment::first_step);
}

void RunShared::note(const Result<void>& output) {
  if (output) return;
  const std::lock_guard lock(mutex_);
  lost_.push_back(output.error());
  if (options.on_lost) options.on_lost(output.error());
}

std::vector<Error> RunShared::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

namespace {

// How much later than asked for a thread of a rank may be woken; Linux takes 50 us otherwise.
constexpr Nanoseconds kTimerSlack{1'000};

// Those of its NUMA node, where ranks compute on the CPU and this machine's ranks fit into its nodes.
std::vector<int> processors_of_rank(const TrainingOptions& options, int rank, int ranks) {
  if (options.make_device) return {};
  int place = rank, here = ranks;
  if (options.transport != nullptr) {
    const std::span nodes(options.nodes);
    const int node = nodes[static_cast<std::size_t>(rank)];
    place = static_cast<int>(std::ranges::count(nodes.first(static_cast<std::size_t>(rank)), node));
    here = static_cast<int>(std::ranges::count(nodes, node));
  }
  return processors_of(numa_nodes(), place, here, options.threads_per_rank);
}

}  // namespace

RunVariant variant_of(const TrainingOptions& options) {
  return {options.resume.has_value(), !options.export_gradients.empty(),
          !options.export_weights.empty(), !options.save.empty() && options.save_every == 0,
          options.most_skipped > 0};
}

RankRun::RankRun(RunShared& shared, int rank)
    : shared_(shared),
      rank_(rank),
      program_(lower(shared.job, rank, variant_of(shared.options))),
      state_(program_),
      processors_(processors_of_rank(shared.options, rank, shared.job.ranks)) {
  memory_report_.rank = rank;
  const OptimizerPlan& optimizer = shared_.job.plan.optimizer;
  scalars_.rms_norm_eps = shared_.job.model.rms_norm_eps;
  scalars_.rope_theta = shared_.job.model.rope_theta;
  scalars_.rope_scaling = shared_.job.model.rope_scaling;
  scalars_.beta1 = optimizer.beta1;
  scalars_.beta2 = optimizer.beta2;
  scalars_.eps = optimizer.eps;
  scalars_.weight_decay = optimizer.weight_decay;
  scalars_.clip_grad_norm = optimizer.clip_grad_norm;
}

void RankRun::open_device() {
  const TrainingOptions& options = shared_.options;
  const OnProcessors here(processors_);
  if (options.make_device) {
    device_ = options.make_device(shared_.run, rank_, program_.streams, options.threads_per_rank);
  } else {
    device_ =
        std::make_unique<CpuDevice>(shared_.run, rank_, program_.streams, options.threads_per_rank);
  }
}

void RankRun::prepare(const GroupCommunicators& communicators, profiler::Recorder* recorder) {
  const TrainingOptions& options = shared_.options;
  const OnProcessors here(processors_);
  if (recorder != nullptr) {
    recording_.emplace(recorder->add_rank(rank_, program_, shared_.job.tree), *recorder);
    recording_->observe(*device_);
  }
  interpreter_ = std::make_unique<Interpreter>(
      RankParts{program_, *device_, shared_.run, shared_.agreements.memory, *this, communicators,
                recording_ ? &*recording_ : nullptr},
      InterpreterOptions{shared_.job.plan.allocator, options.device_memory,
                         options.threads_per_rank, options.poisons, options.uses_graphs,
                         options.checks_launches, options.most_skipped > 0});
}

void RankRun::run() {
  const OnProcessors here(processors_);
  progress_of_this_thread = &shared_.run.progress(rank_);
  pthread_setname_np(pthread_self(), ("r" + std::to_string(rank_) + " host").c_str());
  prctl(PR_SET_TIMERSLACK, kTimerSlack.count());
  OutOfMemoryAgreement& memory = shared_.agreements.memory;
  try {
    run_steps();
    device_->synchronize();
    has_finished_.store(true, std::memory_order_release);
    return memory.finish(rank_);
  } catch (const StoppedOutOfMemory&) {
    memory.leave(rank_);
  } catch (const Aborted&) {
    // Somebody else has failed, or is out of memory before the place where this rank waits.
  } catch (const std::exception& error) {
    fail_without_name(shared_.run, rank_, error.what());
  }
  note_memory(-1);
}

void RankRun::run_steps() {
  const TrainingOptions& options = shared_.options;
  if (options.tests_graphs) interpreter_->test_graphs();
  interpreter_->run(0, 0, scalars_);
  note_memory(0);
  std::int64_t skipped = options.resume ? options.resume->state().skipped : 0;
  for (std::int64_t step = shared_.first_step; step <= options.steps && shared_.may_begin(step);
       ++step) {
    options.fault.maybe_fail(rank_, step);
    scalars_.lr = learning_rate(shared_.job.plan.optimizer, step, options.total_steps);
    // Adam's bias correction counts updates, the schedule counts steps.
    scalars_.optimizer_step = step - skipped;
    StepReport report =
        interpreter_->run(step, program_.number_of(step - shared_.first_step + 1), scalars_);
    report.is_skipped = report.is_skipped && skipped < options.most_skipped;
    skipped += report.is_skipped ? 1 : 0;
    report.skipped = skipped;
    last_step_ = report;
    if (rank_ == 0 || options.transport != nullptr) steps_.push_back(report);
    note_memory(step);
    if (step == shared_.first_step) shared_.first_step_done();
    if (recording_) recording_->end_step(report);
    if (rank_ == 0 && options.on_step) options.on_step(report);
    shared_.keeper->after_step(*this, report);
    if (!report.is_sound()) return;
  }
  shared_.keeper->after_last_step(*this);
  run_closing(last_step_ ? last_step_->step + 1 : shared_.first_step);
}

RankValues RankRun::copied_values(std::int64_t step) {
  if (!copy_) copy_.emplace(*device_, state_);
  copy_->take(memory(), step);
  return {this, copy_->values()};
}

// Before the first step there are no optimizer states, and no checkpoint is written.
void RankRun::run_closing(std::int64_t step) {
  const std::size_t first = program_.programs.size() - program_.closing;
  const std::size_t count =
      !last_step_ ? std::min<std::size_t>(program_.closing, 1) : program_.closing;
  for (std::size_t n = 0; n < count; ++n) {
    interpreter_->run(step + static_cast<std::int64_t>(n), first + n, scalars_);
    note_memory(-1);
  }
}

// After a step; -1: after the step that ended early or what follows the last, whose peaks count for the
// run only.
void RankRun::note_memory(std::int64_t step) {
  const AllocatorStatistics& s = interpreter_->memory().statistics();
  memory_report_.run.include(s);
  if (step > 0) {
    MemoryPeaks peaks;
    peaks.include(s);
    auto& steps = memory_report_.steps;
    if (steps.empty() || steps.back().peaks != peaks) steps.push_back({peaks, 0});
    ++steps.back().steps;
  }
  memory_report_.host = interpreter_->memory().peak_host().count;
}

void RankRun::initialize_shard(const ParameterShard& shard, DType storage,
                               std::span<std::byte> bytes, WorkerPool& workers) {
  if (!shared_.options.resume) {
    return shared_.weights.fill(shared_.job.tree, shard, storage, bytes.data(), workers);
  }
  const auto read = shared_.options.resume->read(shared_.job.tree, shard, ValueRole::parameter,
                                                 storage, shard.padded, bytes.data());
  if (!read) throw std::runtime_error(read.error().text());
}

void RankRun::load_batch(std::int64_t step, int micro_step, std::span<std::int32_t> tokens,
                         std::span<std::int32_t> targets) {
  const BatchPlan& batch = shared_.job.plan.batch;
  shared_.data.fill_batch(
      {rank_, shared_.job.ranks, step, micro_step, batch.accumulation, batch.micro_batch},
      shared_.order, tokens.data(), targets.data());
}

void RankRun::restore_state(const ParameterShard& shard, ValueRole role, DType type,
                            std::span<std::byte> bytes) {
  const auto read =
      shared_.options.resume->read(shared_.job.tree, shard, role, type, shard.local, bytes.data());
  if (!read) throw std::runtime_error(read.error().text());
}

void RankRun::take_gradient(const UnitLayout& unit, DType type,
                            std::span<const std::byte> gradient) {
  for (const ParameterShard& shard : unit.parameters) {
    std::vector<float>& out = gradients_[shard.parameter];
    out.resize(static_cast<std::size_t>(shard.local));
    const std::byte* from = gradient.data() + shard.offset * item_size(type);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (type == DType::fp32) {
        std::memcpy(&out[i], from + 4 * i, 4);
      } else {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from + 2 * i, 2);
        out[i] = bf16_to_float(bits);
      }
    }
  }
}

std::vector<HeldMemory> RankRun::held_at(const OutOfMemoryPoint& point) const {
  std::vector<bool> alive(program_.buffers.size());
  const auto walk = [&](std::span<const Instruction> instructions) {
    for (const Instruction& i : instructions) {
      if (i.kind == Kind::alloc || i.kind == Kind::free) {
        alive[static_cast<std::size_t>(i.target)] = i.kind == Kind::alloc;
      }
    }
  };
  const std::int64_t relative = point.step == 0 ? 0 : point.step - shared_.first_step + 1;
  // A program that repeats leaves behind what it found.
  const std::size_t last = program_.number_of(relative);
  for (std::size_t n = 0; n < last; ++n) walk(program_.programs[n].instructions);
  walk(std::span(program_.programs[last].instructions)
           .first(static_cast<std::size_t>(point.instruction)));
  std::map<std::pair<std::string, std::string>, std::int64_t> sums;
  for (std::size_t b = 0; b < alive.size(); ++b) {
    const Buffer& buffer = program_.buffers[b];
    if (!alive[b] || buffer.on_host) continue;
    sums[{std::string(name(buffer.category)), std::string(unit_name(program_, buffer.unit))}] +=
        buffer.bytes;
  }
  std::vector<HeldMemory> held;
  for (const auto& [key, bytes] : sums) held.push_back({key.first, key.second, bytes});
  std::ranges::sort(held,
                    [](const HeldMemory& a, const HeldMemory& b) { return a.bytes > b.bytes; });
  return held;
}

}  // namespace foreshard::executor
