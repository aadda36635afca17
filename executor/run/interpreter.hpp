// Runs one rank's step programs on the CPU device: that is training.
//
// The host thread walks the program, issues every instruction on its stream and goes on; streams are
// worker threads (stream.hpp), so communication and copies overlap compute. A kernel sees exactly
// the operands its instruction declares.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "executor/communication/communicator.hpp"
#include "executor/communication/oom_agreement.hpp"
#include "executor/cpu/kernels.hpp"
#include "executor/device/stream.hpp"
#include "executor/run/rank_memory.hpp"
#include "models/program/step_program.hpp"
#include "profiler/record/recorder.hpp"

namespace foreshard::executor {

// Work that the host does itself and that reaches beyond the program: data, weights, reports.
class HostWork {
 public:
  virtual ~HostWork() = default;
  // Fills the shards of a unit, in group order, each padded with zeros.
  virtual void initialize_shards(const UnitLayout& unit, DType storage,
                                 std::span<const std::span<std::byte>> shards) = 0;
  virtual void load_batch(std::int64_t step, int micro_step, std::span<std::int32_t> tokens,
                          std::span<std::int32_t> targets) = 0;
  // A resumed run fills an optimizer state instead of zeroing it; true where it did. Called on the
  // thread of the stream whose memory it is.
  virtual bool restore_state(BufferId state, std::span<std::byte> bytes) = 0;
  // The averaged gradient of a unit before clipping, with the streams idle; see wants_gradients.
  virtual void take_gradient(const UnitLayout& unit, DType type,
                             std::span<const std::byte> gradient) = 0;
  virtual bool wants_gradients(std::int64_t step) const = 0;
};

struct StepReport {
  std::int64_t step = 0;
  double loss = 0;
  double gradient_norm = 0;
  Nanoseconds start{0}, end{0};
};

struct InterpreterOptions {
  int threads = 1;                       // of the compute stream's kernels
  std::optional<std::int64_t> capacity;  // of the device
  bool poisons = false;
};

class Interpreter final : public AllocatorListener {
 public:
  Interpreter(const RankProgram& program, const AllocatorSettings& settings,
              const InterpreterOptions& options, RunControl& run, OutOfMemoryAgreement& agreement,
              HostWork& host_work,
              std::array<Communicator*, static_cast<int>(Group::kCount)> communicators,
              profiler::RankRecorder* recorder, const profiler::Recorder* clock);
  ~Interpreter() override;

  KernelScalars scalars;  // the step's; may change between steps

  // Runs the rank's program of that number as that step (a resumed run's first step creates the
  // optimizer's state whatever its number; step 0 is the set-up). Throws StoppedOutOfMemory, Aborted, or what failed.
  StepReport run(std::int64_t step, std::size_t program);
  // Waits for everything issued.
  void synchronize();
  // Whether the streams have finished what was issued up to an instruction that the host has passed;
  // from any thread.
  bool has_finished(Tag last) const;
  // Ends the streams' threads. In a run of several ranks all must have done so before any rank's
  // memory or communicators go, because ranks read each other's buffers.
  void stop_streams();

  RankMemory& memory() { return memory_; }

  void on_event(const AllocatorEvent& event) override;

 private:
  class StreamObserver;

  void issue(const Instruction& instruction, std::int32_t index);
  void allocate(const Instruction& instruction, std::int32_t index);
  void free(const Instruction& instruction);
  void record_host_buffer(profiler::MemoryAction action, BufferId buffer);
  void poison(BufferId buffer);
  void issue_collective(StreamWorker& stream, const Instruction& instruction, Tag tag);
  void run_on_stream(const Instruction& instruction);
  // In place of a kernel that zeroes an optimizer state: what a resumed run goes on with.
  bool restores(const Instruction& i);
  void run_kernel_of(const Instruction& instruction, WorkerPool& workers);
  void host_compute(const Instruction& instruction);
  void export_gradient(const Instruction& instruction);
  StreamWorker& stream(Stream which);
  std::int64_t now() const;

  const RankProgram& program_;
  const InterpreterOptions options_;
  RunControl& run_;
  OutOfMemoryAgreement& agreement_;
  HostWork& host_work_;
  std::array<Communicator*, static_cast<int>(Group::kCount)> communicators_;
  profiler::RankRecorder* recorder_;
  const profiler::Recorder* clock_;
  std::vector<std::unique_ptr<StreamObserver>> observers_;
  RankMemory memory_;
  std::array<std::unique_ptr<WorkerPool>, kStreams> pools_;
  std::unique_ptr<WorkerPool> host_pool_;
  std::vector<Event> events_;
  Epoch epoch_ = 0;  // of the events: one a step
  const Program* current_ = nullptr;
  std::size_t current_program_ = 0;
  std::int64_t step_ = 0;
  std::int32_t index_ = 0;
  double loss_ = 0, gradient_norm_ = 0;
  std::array<std::unique_ptr<StreamWorker>, kStreams> streams_;  // last: their threads use the rest
};

// A task's tag, for messages.
constexpr Tag tag_of(std::int64_t step, std::int32_t instruction) {
  return static_cast<Tag>(step) << 32 | static_cast<std::uint32_t>(instruction);
}
std::string describe_tag(Tag tag);

}  // namespace foreshard::executor
