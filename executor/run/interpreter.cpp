#include "executor/run/interpreter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "executor/cpu/kernels.hpp"
#include "executor/cpu/operand_counts.hpp"
#include "executor/device/clock.hpp"
#include "executor/device/launch_check.hpp"
#include "executor/device/tags.hpp"

namespace foreshard::executor {
namespace {

bool is_work_of_device(Kind kind) {
  return kind == Kind::launch || kind == Kind::copy || kind == Kind::collective ||
         kind == Kind::record_event || kind == Kind::wait_event;
}

// Why no steps are launched as graphs; empty: they may be.
std::string why_no_graphs(const RankParts& parts, const InterpreterOptions& options) {
  if (!options.uses_graphs) return "they are off";
  if (parts.recording != nullptr) return "the run is recorded";
  if (options.poisons) return "memory is poisoned";
  if (options.checks_launches) return "instructions are waited for one by one";
  if (options.skips_updates) return "updates may be skipped";
  const auto can_be = [](const Communicator* c) { return c == nullptr || c->can_be_captured(); };
  if (std::ranges::all_of(parts.communicators, can_be)) return {};
  return "ranks that are threads meet on the host in every collective";
}

}  // namespace

Interpreter::Interpreter(const RankParts& parts, const InterpreterOptions& options)
    : parts_(parts),
      poisons_(options.poisons),
      checks_launches_(options.checks_launches),
      skips_updates_(options.skips_updates),
      device_(parts.device),
      graphs_(parts.device, why_no_graphs(parts, options),
              [this](std::int32_t first, std::int32_t last) { issue_all(first, last); }),
      memory_(parts.program, options.allocator, options.capacity, parts.device,
              [this] { graphs_.forget(index_); }),
      host_workers_(options.threads) {
  check_operands(parts.program);
  if (parts.recording != nullptr) memory_.set_listener(parts.recording);
}

Tag Interpreter::tag() const {
  return tag_of(step_, index_);
}

const UnitLayout* Interpreter::unit_of(const Instruction& i) const {
  return i.unit == kNone ? nullptr : &parts_.program.units[static_cast<std::size_t>(i.unit)];
}

StepReport Interpreter::run(std::int64_t step, std::size_t program, const KernelScalars& scalars) {
  const Program& program_of = parts_.program.programs[program];
  StepReport report;
  report.step = step;
  report.start = monotonic_now();
  device_.begin(program_of);
  device_.set_scalars(scalars);
  graphs_.begin(program_of, step, scalars);
  RankRecording* const recording = parts_.recording;
  if (recording != nullptr) recording->begin_step(step, program);
  step_ = step;
  current_ = &program_of;
  scalars_ = scalars;
  updates_ = true;
  memory_.reset_peaks();
  const auto count = static_cast<std::int32_t>(program_of.instructions.size());
  for (index_ = 0; index_ < count; ++index_) {
    if (!parts_.agreement.may_run(device_.rank(), step, index_)) {
      stop_issuing();
      throw StoppedOutOfMemory{};
    }
    const Instruction& instruction = program_of.instructions[static_cast<std::size_t>(index_)];
    if (recording != nullptr) recording->begin_instruction(index_, instruction.kind);
    checks_launches_ ? walk_checked(instruction) : walk(instruction);
    if (recording != nullptr) recording->end_instruction();
  }
  graphs_.end(count);
  report.loss = loss_;
  report.gradient_norm = gradient_norm_;
  report.own_loss = own_loss_;
  report.is_skipped = !updates_;
  report.end = monotonic_now();
  return report;
}

void Interpreter::walk_checked(const Instruction& i) {
  const auto name = [&] {
    const std::string_view of =
        i.cost_key == kNone ? foreshard::name(i.kind) : parts_.program.operator_name(i);
    const std::string unit(unit_name(parts_.program, i.unit));
    return describe_tag(tag()) + " (" + std::string(of) + (unit.empty() ? "" : " of " + unit) + ")";
  };
  const Meets meets = i.kind == Kind::collective ? Meets::other_ranks : Meets::nobody;
  do_checked(parts_.run, device_, meets, name, [&] { walk(i); });
}

bool Interpreter::is_skipped(const Instruction& i) const {
  if (updates_ || i.cost_key == kNone) return false;
  const Operator op = key_of(i).op;
  return op == Operator::adamw || op == Operator::sgd;
}

void Interpreter::walk(const Instruction& i) {
  if (is_skipped(i)) return;
  if (is_work_of_device(i.kind)) return graphs_.defers() ? graphs_.defer() : issue(i);
  switch (i.kind) {
    case Kind::alloc: return allocate(i.target);
    case Kind::free: return free(i.target);
    case Kind::host_compute: return host_compute(i);
    case Kind::host_wait:
      graphs_.reach(index_);
      parts_.run.progress(device_.rank()).last_instruction.store(tag(), std::memory_order_relaxed);
      return device_.host_wait(i.target);
    case Kind::empty_cache: return memory_.empty_cache();
    case Kind::record_stream:
      // Ignored, the memory would be handed out while the other stream still uses it.
      throw std::logic_error(
          "the program defers a free (record_stream), which is not supported yet");
    case Kind::range_begin: return device_.range_begin(parts_.program.name(i.target), tag());
    case Kind::range_end: return device_.range_end();
    default: return;
  }
}

void Interpreter::issue(const Instruction& i) {
  switch (i.kind) {
    case Kind::copy: return copy(i);
    case Kind::collective: return issue_collective(i);
    case Kind::record_event: return device_.record(i.stream, i.target, unreported(tag()));
    case Kind::wait_event: return device_.wait(i.stream, i.target, unreported(tag()));
    default: return launch(i);
  }
}

// As though the program were there; it stays where it is, also where a capture fails.
void Interpreter::issue_all(std::int32_t first, std::int32_t last) {
  const struct ReturnOnExit {
    std::int32_t& index;
    const std::int32_t here = index;
    ~ReturnOnExit() { index = here; }
  } return_on_exit{index_};
  for (index_ = first; index_ < last; ++index_) {
    const Instruction& i = current_->instructions[static_cast<std::size_t>(index_)];
    if (is_work_of_device(i.kind)) issue(i);
  }
}

// All that comes before this instruction is on its way.
void Interpreter::stop_issuing() {
  graphs_.give_up(index_, "memory ran out");
  device_.stops_issuing();
}

void Interpreter::allocate(BufferId buffer) {
  if (const auto failed = memory_.allocate(buffer)) {
    stop_issuing();
    parts_.agreement.report({step_, index_, device_.rank(), *failed});
    throw StoppedOutOfMemory{};
  }
  graphs_.placed(memory_.bytes(buffer).data(), index_);
  record_host_buffer(profiler::MemoryAction::alloc, buffer);
  if (poisons_) poison(buffer);
}

void Interpreter::free(BufferId buffer) {
  if (poisons_) poison(buffer);
  record_host_buffer(profiler::MemoryAction::free_requested, buffer);
  memory_.free(buffer);
}

// The device's allocator reports its own.
void Interpreter::record_host_buffer(profiler::MemoryAction action, BufferId id) {
  const Buffer& buffer = memory_.buffer(id);
  if (parts_.recording == nullptr || !buffer.on_host) return;
  parts_.recording->host_buffer(action, memory_.bytes(id).data(), buffer.bytes);
}

void Interpreter::poison(BufferId id) {
  constexpr std::byte kNan{0xFF};
  const Buffer& buffer = memory_.buffer(id);
  if (buffer.on_host) {
    std::ranges::fill(memory_.bytes(id), kNan);
  } else {
    device_.fill(buffer.pool, unreported(tag()), memory_.block(id), kNan);
  }
}

KernelLaunch Interpreter::resolved(const Instruction& i) {
  reads_.clear();
  writes_.clear();
  for (const BufferId b : current_->reads(i)) reads_.push_back(memory_.bytes(b));
  for (const BufferId b : current_->writes(i)) writes_.push_back(memory_.bytes(b));
  return {key_of(i), reads_, writes_, i.aux, unit_of(i), scalars_};
}

void Interpreter::launch(const Instruction& i) {
  device_.launch(i.stream, tag(), resolved(i));
}

void Interpreter::copy(const Instruction& i) {
  device_.copy(i.stream, tag(), memory_.bytes(current_->writes(i)[0]),
               memory_.bytes(current_->reads(i)[0]).data());
}

void Interpreter::issue_collective(const Instruction& i) {
  const CostKey& key = key_of(i);
  Communicator& group = *parts_.communicators[static_cast<std::size_t>(i.group)];
  const auto input = memory_.bytes(current_->reads(i)[0]),
             output = memory_.bytes(current_->writes(i)[0]);
  const Reduction reduction = i.aux == 1 ? Reduction::average : Reduction::sum;
  switch (key.op) {
    case Operator::all_gather:
      return group.all_gather(i.stream, tag(), output.data(), key.dims[0] / key.dims[1]);
    case Operator::reduce_scatter:
      return group.reduce_scatter(i.stream, tag(), key.dtype, reduction, input.data(),
                                  output.data(), key.dims[0] / key.dims[1] / item_size(key.dtype));
    default:
      return group.all_reduce(i.stream, tag(), key.dtype, reduction, output.data(),
                              key.dims[0] / item_size(key.dtype));
  }
}

void Interpreter::host_compute(const Instruction& i) {
  const CostKey& key = key_of(i);
  HostWork& work = parts_.host_work;
  const auto reads = current_->reads(i), writes = current_->writes(i);
  parts_.run.progress(device_.rank()).retire();
  switch (key.op) {
    case Operator::initialize_shards:
      for (std::size_t p = 0; p < writes.size(); ++p) {
        work.initialize_shard(unit_of(i)->parameters[p], key.dtype, memory_.bytes(writes[p]),
                              host_workers_);
      }
      return;
    case Operator::restore_states: {
      const auto& parameters = unit_of(i)->parameters;
      for (std::size_t w = 0; w < writes.size(); ++w) {
        const bool is_first = w < parameters.size();
        work.restore_state(parameters[w % parameters.size()],
                           is_first ? ValueRole::exp_avg : ValueRole::exp_avg_sq, key.dtype,
                           memory_.bytes(writes[w]));
      }
      return;
    }
    case Operator::export_gradients:
      return work.take_gradient(*unit_of(i), key.dtype, memory_.bytes(reads[0]));
    case Operator::load_batch: {
      const auto ints = [this](BufferId b) {
        const auto bytes = memory_.bytes(b);
        return std::span(reinterpret_cast<std::int32_t*>(bytes.data()), bytes.size() / 4);
      };
      return work.load_batch(step_, i.aux, ints(writes[0]), ints(writes[1]));
    }
    case Operator::report:
      loss_ = number_in(reads[0]);
      gradient_norm_ = number_in(reads[1]);
      own_loss_ = number_in(reads[2]);
      updates_ = !skips_updates_ || (std::isfinite(loss_) && std::isfinite(gradient_norm_));
      return;
    default: break;
  }
  cpu_kernels().run({resolved(i), host_workers_});
}

// The fp64 that a buffer of the host begins with. The sign of a NaN means nothing, and none is shown.
double Interpreter::number_in(BufferId buffer) {
  double number = 0;
  std::memcpy(&number, memory_.bytes(buffer).data(), sizeof number);
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

}  // namespace foreshard::executor
