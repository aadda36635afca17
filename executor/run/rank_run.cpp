#include "executor/run/rank_run.hpp"

#include <algorithm>
#include <cstring>

#include <pthread.h>

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

RankRun::RankRun(RunShared& shared, int rank)
    : shared_(shared), rank_(rank), program_(lower(shared.job, rank)), state_(program_) {
  memory_report_.rank = rank;
}

void RankRun::prepare(const Communicators& communicators, profiler::Recorder* recorder) {
  const TrainingOptions& options = shared_.options;
  clock_ = recorder;
  if (recorder != nullptr) recorder_ = &recorder->add_rank(rank_, program_, shared_.job.tree);
  interpreter_ = std::make_unique<Interpreter>(
      program_, shared_.job.plan.allocator,
      InterpreterOptions{options.threads_per_rank, options.device_memory, options.poisons},
      shared_.run, shared_.agreements.memory, *this, communicators, recorder_, recorder);
  const OptimizerPlan& optimizer = shared_.job.plan.optimizer;
  KernelScalars& scalars = interpreter_->scalars;
  scalars.rms_norm_eps = shared_.job.model.rms_norm_eps;
  scalars.rope_theta = shared_.job.model.rope_theta;
  scalars.rope_scaling = shared_.job.model.rope_scaling;
  scalars.beta1 = optimizer.beta1;
  scalars.beta2 = optimizer.beta2;
  scalars.eps = optimizer.eps;
  scalars.weight_decay = optimizer.weight_decay;
  scalars.clip_grad_norm = optimizer.clip_grad_norm;
}

void RankRun::run() {
  progress_of_this_thread = &shared_.run.progress(rank_);
  pthread_setname_np(pthread_self(), ("r" + std::to_string(rank_) + " host").c_str());
  OutOfMemoryAgreement& memory = shared_.agreements.memory;
  try {
    run_steps();
    interpreter_->synchronize();
    has_finished_.store(true, std::memory_order_release);
    return memory.finish(rank_);
  } catch (const StoppedOutOfMemory&) {
    memory.leave(rank_);
  } catch (const Aborted&) {
    // Somebody else has failed, or is out of memory before the place where this rank waits.
  } catch (const std::exception& error) {
    shared_.run.fail(rank_, error.what());
  }
  note_memory(-1);
}

void RankRun::run_steps() {
  const TrainingOptions& options = shared_.options;
  interpreter_->run(0, 0);
  note_memory(0);
  for (std::int64_t step = shared_.first_step; step <= options.steps && shared_.may_begin(step);
       ++step) {
    options.fault.maybe_fail(rank_, step);
    interpreter_->scalars.lr = learning_rate(shared_.job.plan.optimizer, step, options.total_steps);
    interpreter_->scalars.optimizer_step = step;
    const StepReport report =
        interpreter_->run(step, program_.number_of(step - shared_.first_step + 1));
    steps_.push_back(report);
    note_memory(step);
    if (recorder_ != nullptr) {
      const std::int64_t origin = profiler::clock_now() - clock_->now();
      recorder_->step(step, report.start.count() - origin, report.end.count() - origin, report.loss,
                      report.gradient_norm);
    }
    if (rank_ == 0 && options.on_step) options.on_step(report);
  }
}

// After a step; -1: after the step that ended early, whose peaks count for the run only.
void RankRun::note_memory(std::int64_t step) {
  const AllocatorStatistics& s = interpreter_->memory().statistics();
  auto& run = memory_report_.run;
  run.allocated = std::max(run.allocated, s.peak_allocated);
  run.reserved = std::max(run.reserved, s.peak_reserved);
  run.active = std::max(run.active, s.peak_active);
  if (step > 0) memory_report_.steps.push_back({s.peak_allocated, s.peak_reserved, s.peak_active});
  memory_report_.host = interpreter_->memory().peak_host().count;
}

void RankRun::initialize_shards(const UnitLayout& unit, DType storage,
                                std::span<const std::span<std::byte>> shards) {
  for (std::size_t p = 0; p < shards.size(); ++p) {
    const ParameterShard& shard = unit.parameters[p];
    if (!shared_.options.resume) {
      shared_.weights.fill(shared_.job.tree, shard, storage, shards[p].data());
      continue;
    }
    const auto read = shared_.options.resume->read(shared_.job.tree, shard, "parameter", storage,
                                                   shard.padded, shards[p].data());
    if (!read) throw std::runtime_error(read.error().text());
  }
}

void RankRun::load_batch(std::int64_t step, int micro_step, std::span<std::int32_t> tokens,
                         std::span<std::int32_t> targets) {
  const BatchPlan& batch = shared_.job.plan.batch;
  shared_.data.fill_batch(
      {rank_, shared_.job.ranks, step, micro_step, batch.accumulation, batch.micro_batch},
      shared_.order, tokens.data(), targets.data());
}

bool RankRun::restore_state(BufferId state, std::span<std::byte> bytes) {
  if (!shared_.options.resume) return false;
  const RankState::Value* value = state_.find(state);
  if (value == nullptr) return false;
  const auto read = shared_.options.resume->read(shared_.job.tree, *value->shard, value->role,
                                                 value->type, value->shard->local, bytes.data());
  if (!read) throw std::runtime_error(read.error().text());
  return true;
}

bool RankRun::wants_gradients(std::int64_t step) const {
  return step == shared_.first_step && !shared_.options.export_gradients.empty();
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
  const auto walk = [&](const Program& of, std::size_t end) {
    for (std::size_t n = 0; n < end; ++n) {
      const Instruction& i = of.instructions[n];
      if (i.kind == Kind::alloc || i.kind == Kind::free) {
        alive[static_cast<std::size_t>(i.target)] = i.kind == Kind::alloc;
      }
    }
  };
  const std::int64_t relative = point.step == 0 ? 0 : point.step - shared_.first_step + 1;
  const std::size_t last = program_.number_of(relative);
  for (std::size_t n = 0; n < last; ++n) {
    walk(program_.programs[n], program_.programs[n].instructions.size());
  }
  walk(program_.programs[last], static_cast<std::size_t>(point.instruction));
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
