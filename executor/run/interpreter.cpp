#include "executor/run/interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "executor/cpu/operand_counts.hpp"
#include "executor/device/clock.hpp"

namespace foreshard::executor {

namespace {

// Processor time of the calling thread; a system call, so only for what takes long.
std::int64_t thread_cpu_now() {
  return read_clock(CLOCK_THREAD_CPUTIME_ID).count();
}

std::size_t most_events(const RankProgram& program) {
  std::int32_t most = 0;
  for (const Program& one : program.programs) most = std::max(most, one.events);
  return static_cast<std::size_t>(most);
}

}  // namespace

// Hands the times of a stream's tasks to the recorder. A collective is shown from the moment all its
// ranks have arrived.
class Interpreter::StreamObserver final : public TaskObserver {
 public:
  StreamObserver(const Interpreter& owner, profiler::LaneRecorder& lane, std::int64_t origin)
      : owner_(owner), lane_(lane), origin_(origin) {}

  void task_finished(const TaskTimes& times) override {
    lane_.event(owner_.current_program_, static_cast<std::int32_t>(times.tag & 0xFFFFFFFF),
                static_cast<std::int64_t>(times.tag >> 32), times.ready.count() - origin_,
                times.end.count() - origin_, times.cpu.count());
  }

 private:
  const Interpreter& owner_;
  profiler::LaneRecorder& lane_;
  std::int64_t origin_;
};

std::string describe_tag(Tag tag) {
  return "instruction " + std::to_string(tag & 0xFFFFFFFF) + " of step " +
         std::to_string(tag >> 32);
}

Interpreter::Interpreter(const RankProgram& program, const AllocatorSettings& settings,
                         const InterpreterOptions& options, RunControl& run,
                         OutOfMemoryAgreement& agreement, HostWork& host_work,
                         std::array<Communicator*, static_cast<int>(Group::kCount)> communicators,
                         profiler::RankRecorder* recorder, const profiler::Recorder* clock)
    : program_(program),
      options_(options),
      run_(run),
      agreement_(agreement),
      host_work_(host_work),
      communicators_(communicators),
      recorder_(recorder),
      clock_(clock),
      memory_(program, settings, options.capacity, [this] { synchronize(); }),
      host_pool_(std::make_unique<WorkerPool>(options.threads)),
      events_(most_events(program)) {
  check_operands(program);
  const std::int64_t origin = clock == nullptr ? 0 : profiler::clock_now() - clock->now();
  for (int s = 0; s < kStreams; ++s) {
    const Stream which = static_cast<Stream>(s);
    const std::size_t at = static_cast<std::size_t>(s);
    pools_[at] = std::make_unique<WorkerPool>(which == Stream::compute ? options.threads : 1);
    streams_[at] =
        std::make_unique<StreamWorker>(run, program.place.rank, std::string(name(which)));
    if (recorder == nullptr) continue;
    observers_.push_back(std::make_unique<StreamObserver>(*this, recorder->lane(which), origin));
    streams_[at]->set_observer(observers_.back().get());
  }
  if (recorder != nullptr) memory_.set_listener(this);
}

Interpreter::~Interpreter() {
  stop_streams();
  memory_.set_listener(nullptr);
}

void Interpreter::stop_streams() {
  for (auto& s : streams_) s->stop();
}

StreamWorker& Interpreter::stream(Stream which) {
  return *streams_[static_cast<std::size_t>(which)];
}

std::int64_t Interpreter::now() const {
  return clock_->now();
}

bool Interpreter::has_finished(Tag last) const {
  return std::ranges::all_of(streams_, [last](const auto& s) { return s->has_finished(last); });
}

void Interpreter::synchronize() {
  for (auto& s : streams_) s->synchronize();
}

StepReport Interpreter::run(std::int64_t step, std::size_t program) {
  const Program& program_of = program_.programs[program];
  StepReport report{step, 0, 0, Nanoseconds(profiler::clock_now()), {}};
  // Programs number their events each for itself, and an event belongs to one recording stream.
  if (current_ != &program_of) synchronize();
  ++epoch_;
  step_ = step;
  current_ = &program_of;
  current_program_ = program;
  memory_.reset_peaks();
  const auto count = static_cast<std::int32_t>(program_of.instructions.size());
  for (index_ = 0; index_ < count; ++index_) {
    if (!agreement_.may_run(program_.place.rank, step, index_)) throw StoppedOutOfMemory{};
    const Instruction& instruction = program_of.instructions[static_cast<std::size_t>(index_)];
    if (recorder_ == nullptr) {
      issue(instruction, index_);
    } else {
      const bool is_work = instruction.kind == Kind::host_compute;
      const std::int64_t cpu = is_work ? thread_cpu_now() : 0;
      const std::int64_t start = now();
      issue(instruction, index_);
      const std::int64_t end = now();
      recorder_->host().event(current_program_, index_, step, start, end,
                              is_work ? thread_cpu_now() - cpu : -1);
    }
  }
  report.loss = loss_;
  report.gradient_norm = gradient_norm_;
  report.end = Nanoseconds(profiler::clock_now());
  return report;
}

void Interpreter::issue(const Instruction& i, std::int32_t index) {
  const Tag tag = tag_of(step_, index);
  switch (i.kind) {
    case Kind::alloc: return allocate(i, index);
    case Kind::free: return free(i);
    case Kind::launch: {
      const Operator op = program_.cost_keys[static_cast<std::size_t>(i.cost_key)].op;
      if (op == Operator::gradient_norm && host_work_.wants_gradients(step_)) export_gradient(i);
      return stream(i.stream).submit(tag, [this, &i] { run_on_stream(i); });
    }
    case Kind::copy: return stream(i.stream).submit(tag, [this, &i] { run_on_stream(i); });
    case Kind::collective: return issue_collective(stream(i.stream), i, tag);
    case Kind::host_compute: return host_compute(i);
    case Kind::record_event:
      return stream(i.stream).record(events_[static_cast<std::size_t>(i.target)], epoch_,
                                     unreported(tag));
    case Kind::wait_event:
      return stream(i.stream).wait(events_[static_cast<std::size_t>(i.target)], epoch_,
                                   unreported(tag));
    case Kind::host_wait:
      run_.progress(program_.place.rank).last_instruction.store(tag, std::memory_order_relaxed);
      return events_[static_cast<std::size_t>(i.target)].wait(run_, epoch_);
    case Kind::empty_cache: return memory_.empty_cache();
    case Kind::record_stream:
      // Ignored, the memory would be handed out while the other stream still uses it.
      throw std::logic_error("the program defers a free (record_stream), which cannot be run yet");
    case Kind::range_begin:
    case Kind::range_end: return;
  }
}

void Interpreter::allocate(const Instruction& i, std::int32_t index) {
  if (const auto failed = memory_.allocate(i.target)) {
    agreement_.report({step_, index, program_.place.rank, *failed});
    throw StoppedOutOfMemory{};
  }
  record_host_buffer(profiler::MemoryAction::alloc, i.target);
  if (options_.poisons) poison(i.target);
}

void Interpreter::free(const Instruction& i) {
  if (options_.poisons) poison(i.target);
  record_host_buffer(profiler::MemoryAction::free_requested, i.target);
  memory_.free(i.target);
}

// The device's allocator tells of its own, see on_event.
void Interpreter::record_host_buffer(profiler::MemoryAction action, BufferId id) {
  const Buffer& buffer = program_.buffers[static_cast<std::size_t>(id)];
  if (recorder_ == nullptr || !buffer.on_host) return;
  recorder_->host().memory(action, current_program_, index_, step_, now(),
                           reinterpret_cast<std::intptr_t>(memory_.bytes(id).data()),
                           round_up(buffer.bytes, kHostAlignment));
}

void Interpreter::poison(BufferId buffer) {
  const Buffer& of = program_.buffers[static_cast<std::size_t>(buffer)];
  if (of.on_host) {
    std::ranges::fill(memory_.bytes(buffer), std::byte{0xFF});
    return;
  }
  const auto block = memory_.block(buffer);
  const Tag tag = unreported(tag_of(step_, index_));
  stream(of.pool).submit(tag, [block] { std::ranges::fill(block, std::byte{0xFF}); });
}

void Interpreter::issue_collective(StreamWorker& on, const Instruction& i, Tag tag) {
  const CostKey& key = program_.cost_keys[static_cast<std::size_t>(i.cost_key)];
  Communicator& group = *communicators_[static_cast<std::size_t>(i.group)];
  const auto input = memory_.bytes(current_->reads(i)[0]),
             output = memory_.bytes(current_->writes(i)[0]);
  const Reduction reduction = i.aux == 1 ? Reduction::average : Reduction::sum;
  switch (key.op) {
    case Operator::all_gather:
      return group.all_gather(on, tag, output.data(), key.dims[0] / key.dims[1]);
    case Operator::reduce_scatter:
      return group.reduce_scatter(on, tag, key.dtype, reduction, input.data(), output.data(),
                                  key.dims[0] / key.dims[1] / item_size(key.dtype));
    default:
      return group.all_reduce(on, tag, key.dtype, reduction, output.data(),
                              key.dims[0] / item_size(key.dtype));
  }
}

void Interpreter::run_on_stream(const Instruction& i) {
  if (i.kind == Kind::copy) {
    const auto from = memory_.bytes(current_->reads(i)[0]),
               to = memory_.bytes(current_->writes(i)[0]);
    std::memcpy(to.data(), from.data(), to.size());
  } else if (!restores(i)) {
    run_kernel_of(i, *pools_[static_cast<std::size_t>(i.stream)]);
  }
}

bool Interpreter::restores(const Instruction& i) {
  if (program_.cost_keys[static_cast<std::size_t>(i.cost_key)].op != Operator::fill_zero) {
    return false;
  }
  const BufferId target = current_->writes(i)[0];
  return program_.buffers[static_cast<std::size_t>(target)].category ==
             Category::optimizer_states &&
         host_work_.restore_state(target, memory_.bytes(target));
}

void Interpreter::run_kernel_of(const Instruction& i, WorkerPool& workers) {
  // Operand lists are short, except those that name every parameter of a unit.
  thread_local std::vector<std::span<const std::byte>> reads;
  thread_local std::vector<std::span<std::byte>> writes;
  reads.clear();
  writes.clear();
  for (const BufferId b : current_->reads(i)) reads.push_back(memory_.bytes(b));
  for (const BufferId b : current_->writes(i)) writes.push_back(memory_.bytes(b));
  const UnitLayout* unit =
      i.unit == kNone ? nullptr : &program_.units[static_cast<std::size_t>(i.unit)];
  run_kernel({program_.cost_keys[static_cast<std::size_t>(i.cost_key)], reads, writes, i.aux, unit,
              scalars, workers});
}

void Interpreter::host_compute(const Instruction& i) {
  const CostKey& key = program_.cost_keys[static_cast<std::size_t>(i.cost_key)];
  const auto writes = current_->writes(i);
  run_.progress(program_.place.rank).retire();
  switch (key.op) {
    case Operator::initialize_shards: {
      std::vector<std::span<std::byte>> shards;
      for (const BufferId b : writes) shards.push_back(memory_.bytes(b));
      return host_work_.initialize_shards(program_.units[static_cast<std::size_t>(i.unit)],
                                          key.dtype, shards);
    }
    case Operator::load_batch: {
      const auto ints = [this](BufferId b) {
        const auto bytes = memory_.bytes(b);
        return std::span(reinterpret_cast<std::int32_t*>(bytes.data()), bytes.size() / 4);
      };
      return host_work_.load_batch(step_, i.aux, ints(writes[0]), ints(writes[1]));
    }
    case Operator::report: {
      const auto reads = current_->reads(i);
      std::memcpy(&loss_, memory_.bytes(reads[0]).data(), sizeof loss_);
      std::memcpy(&gradient_norm_, memory_.bytes(reads[1]).data(), sizeof gradient_norm_);
      return;
    }
    case Operator::fill_zero:
      if (restores(i)) return;
      break;
    case Operator::gradient_norm:
      if (host_work_.wants_gradients(step_)) export_gradient(i);
      break;
    default: break;
  }
  run_kernel_of(i, *host_pool_);
}

void Interpreter::export_gradient(const Instruction& i) {
  synchronize();
  host_work_.take_gradient(program_.units[static_cast<std::size_t>(i.unit)],
                           program_.cost_keys[static_cast<std::size_t>(i.cost_key)].dtype,
                           memory_.bytes(current_->reads(i)[0]));
}

void Interpreter::on_event(const AllocatorEvent& event) {
  using From = AllocatorEvent::Action;
  using To = profiler::MemoryAction;
  static constexpr std::pair<From, To> kActions[] = {{From::alloc, To::alloc},
                                                     {From::free_requested, To::free_requested},
                                                     {From::free_completed, To::free_completed},
                                                     {From::segment_alloc, To::segment_alloc},
                                                     {From::segment_map, To::segment_alloc},
                                                     {From::segment_free, To::segment_free},
                                                     {From::segment_unmap, To::segment_free},
                                                     {From::out_of_memory, To::out_of_memory}};
  for (const auto& [from, to] : kActions) {
    if (from == event.action) {
      recorder_->host().memory(to, current_program_, index_, step_, now(), event.address,
                               event.bytes);
    }
  }
}

}  // namespace foreshard::executor
