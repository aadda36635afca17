#include "executor/run/rank_recording.hpp"

#include <utility>

#include "executor/device/clock.hpp"
#include "executor/run/tags.hpp"

namespace foreshard::executor {
namespace {

// Processor time of the calling thread; a system call, so only for what takes long.
std::int64_t thread_cpu_now() {
  return read_clock(CLOCK_THREAD_CPUTIME_ID).count();
}

}  // namespace

// Hands the times of a stream's tasks to the recorder. A collective is shown from the moment all its
// ranks have arrived.
class RankRecording::StreamObserver final : public TaskObserver {
 public:
  StreamObserver(const RankRecording& owner, profiler::LaneRecorder& lane)
      : owner_(owner), lane_(lane) {}

  void task_finished(const TaskTimes& times) override {
    lane_.event(owner_.program_, instruction_of(times.tag), step_of(times.tag),
                times.ready.count() - owner_.origin_, times.end.count() - owner_.origin_,
                times.cpu.count());
  }

 private:
  const RankRecording& owner_;
  profiler::LaneRecorder& lane_;
};

RankRecording::RankRecording(profiler::RankRecorder& recorder, const profiler::Recorder& clock)
    : recorder_(recorder), clock_(clock), origin_(profiler::clock_now() - clock.now()) {}

RankRecording::~RankRecording() = default;

void RankRecording::observe(Device& device) {
  for (std::size_t s = 0; s < recorder_.streams(); ++s) {
    const Stream stream = static_cast<Stream>(s);
    observers_.push_back(std::make_unique<StreamObserver>(*this, recorder_.lane(stream)));
    device.set_observer(stream, observers_.back().get());
  }
}

void RankRecording::begin_step(std::int64_t step, std::size_t program) {
  step_ = step;
  // Streams read it: nothing is written while they may be at work.
  if (program != program_) program_ = program;
}

void RankRecording::end_step(const StepReport& report) {
  recorder_.step(report.step, report.start.count() - origin_, report.end.count() - origin_,
                 report.loss, report.gradient_norm);
}

void RankRecording::begin_instruction(std::int32_t index, Kind kind) {
  index_ = index;
  issues_ =
      kind == Kind::launch || kind == Kind::copy || kind == Kind::collective || kind == Kind::alloc;
  if (issues_) recorder_.begin_issue(program_, index_, step_);
  is_work_ = kind == Kind::host_compute;
  if (is_work_) cpu_start_ = thread_cpu_now();
  start_ = clock_.now();
}

void RankRecording::end_instruction() {
  const std::int64_t end = clock_.now();
  if (issues_) recorder_.end_issue();
  recorder_.host().event(program_, index_, step_, start_, end,
                         is_work_ ? thread_cpu_now() - cpu_start_ : -1);
}

void RankRecording::host_buffer(profiler::MemoryAction action, const std::byte* at,
                                std::int64_t bytes) {
  recorder_.host().memory(action, program_, index_, step_, clock_.now(),
                          reinterpret_cast<std::intptr_t>(at), round_up(bytes, kHostAlignment));
}

void RankRecording::on_event(const AllocatorEvent& event) {
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
      recorder_.host().memory(to, program_, index_, step_, clock_.now(), event.address,
                              event.bytes);
    }
  }
}

}  // namespace foreshard::executor
