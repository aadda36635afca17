// What one rank's run leaves in the trace: when the host issued each instruction, when streams worked
// on it, and what the allocator and the host's buffers did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "executor/device/device.hpp"
#include "executor/run/step_report.hpp"
#include "models/allocator/caching_allocator.hpp"
#include "models/program/step_program.hpp"
#include "profiler/record/recorder.hpp"

namespace foreshard::executor {

// By the rank's host thread. Outlives the device's streams, or their observers are taken away.
class RankRecording final : public AllocatorListener {
 public:
  RankRecording(profiler::RankRecorder& recorder, const profiler::Recorder& clock);
  ~RankRecording() override;

  // Records the device's streams from now on.
  void observe(Device& device);
  // Only while the streams are idle where it is another of the rank's programs than before.
  void begin_step(std::int64_t step, std::size_t program);
  void end_step(const StepReport& report);
  void begin_instruction(std::int32_t index, Kind kind);
  void end_instruction();
  void host_buffer(profiler::MemoryAction action, const std::byte* at, std::int64_t bytes);
  void on_event(const AllocatorEvent& event) override;

 private:
  class StreamObserver;

  profiler::RankRecorder& recorder_;
  const std::int64_t origin_;  // of the trace, by the monotonic clock
  std::vector<std::unique_ptr<StreamObserver>> observers_;
  std::size_t program_ = 0;  // number of the rank's program at hand
  std::int64_t step_ = 0;
  std::int32_t index_ = 0;
  bool issues_ = false;                  // work of the device, or asks it for memory
  bool is_work_ = false;                 // of the host, whose processor time is measured
  profiler::ThreadClock::Moment begun_;  // the instruction
};

}  // namespace foreshard::executor
