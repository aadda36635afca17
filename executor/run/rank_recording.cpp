#include "executor/run/rank_recording.hpp"

#include <utility>

#include "executor/device/futex.hpp"
#include "executor/device/tags.hpp"

namespace foreshard::executor {
namespace {

// Since the last call.
bool has_slept() {
  return std::exchange(this_thread_has_slept, false);
}

}  // namespace

// Hands the times of a stream's tasks to the recorder. A collective is shown from the moment all its
// ranks have arrived.
class RankRecording::StreamObserver final : public TaskObserver {
 public:
  StreamObserver(const RankRecording& owner, profiler::LaneRecorder& lane)
      : owner_(owner), lane_(lane) {}

  void task_begins() override {
    begun_ = lane_.clock().begin(has_slept());
    ready_ns_ = begun_.ns;
  }
  void task_is_ready() override { ready_ns_ = profiler::clock_now(); }
  void task_finished(Tag tag) override {
    const auto ended = lane_.clock().end(has_slept());
    lane_.event(owner_.program_, instruction_of(tag), step_of(tag), ready_ns_ - owner_.origin_,
                ended.ns - owner_.origin_, profiler::cpu_between(begun_, ended));
  }

 private:
  const RankRecording& owner_;
  profiler::LaneRecorder& lane_;
  profiler::ThreadClock::Moment begun_;
  std::int64_t ready_ns_ = 0;
};

RankRecording::RankRecording(profiler::RankRecorder& recorder, const profiler::Recorder& clock)
    : recorder_(recorder), origin_(profiler::clock_now() - clock.now()) {}

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
  if (is_work_) {
    begun_ = recorder_.host().clock().begin(has_slept());
  } else {
    begun_.ns = profiler::clock_now();
  }
}

void RankRecording::end_instruction() {
  profiler::LaneRecorder& host = recorder_.host();
  const auto ended = is_work_ ? host.clock().end(has_slept())
                              : profiler::ThreadClock::Moment{profiler::clock_now()};
  if (issues_) recorder_.end_issue();
  host.event(program_, index_, step_, begun_.ns - origin_, ended.ns - origin_,
             is_work_ ? profiler::cpu_between(begun_, ended) : -1);
}

void RankRecording::host_buffer(profiler::MemoryAction action, const std::byte* at,
                                std::int64_t bytes) {
  recorder_.host().memory(action, program_, index_, step_, profiler::clock_now() - origin_,
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
      recorder_.host().memory(to, program_, index_, step_, profiler::clock_now() - origin_,
                              event.address, event.bytes);
    }
  }
}

}  // namespace foreshard::executor
