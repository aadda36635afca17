// Runs one rank's step programs on its device: that is training.
//
// The host thread walks the program: it allocates and frees, resolves each instruction's operands to
// where they lie at that moment (why that is right: executor/device/device.hpp), issues the
// instruction on its stream and goes on. A kernel sees exactly the operands its instruction declares.
// Steps that are alike may be launched as graphs instead (step_graphs.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/communication/communicators.hpp"
#include "executor/communication/oom_agreement.hpp"
#include "executor/device/device.hpp"
#include "executor/device/worker_pool.hpp"
#include "executor/graphs/step_graphs.hpp"
#include "executor/run/host_work.hpp"
#include "executor/run/rank_memory.hpp"
#include "executor/run/rank_recording.hpp"
#include "executor/run/step_report.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

struct InterpreterOptions {
  AllocatorSettings allocator{};
  std::optional<std::int64_t> capacity{};  // of the device, in bytes; nothing: unlimited
  int threads = 1;                         // of the host's own kernels
  bool poisons = false;
  bool uses_graphs = false;
  bool checks_launches = false;  // waits for each instruction, to name one that fails
  // A step whose loss or norm is not finite updates nothing, in programs that report both before the update.
  bool skips_updates = false;
};

// What an interpreter works with and for; everything outlives it.
struct RankParts {
  const RankProgram& program;
  Device& device;
  RunControl& run;
  OutOfMemoryAgreement& agreement;
  HostWork& host_work;
  GroupCommunicators communicators{};
  RankRecording* recording = nullptr;  // nullptr: nothing is recorded
};

class Interpreter {
 public:
  Interpreter(const RankParts& parts, const InterpreterOptions& options);

  // Before the first program: steps are launched as graphs only where a small one passes a test.
  void test_graphs() { graphs_.test(parts_.communicators); }
  // Runs the rank's program of that number as that step (a resumed run's first step creates the
  // optimizer's state whatever its number; step 0 is the set-up). Throws StoppedOutOfMemory, Aborted,
  // or what failed.
  StepReport run(std::int64_t step, std::size_t program, const KernelScalars& scalars);

  RankMemory& memory() { return memory_; }
  StepGraphs& graphs() { return graphs_; }

 private:
  void walk(const Instruction& instruction);
  // Where it fails it is named.
  void walk_checked(const Instruction& instruction);
  // Work of the device.
  void issue(const Instruction& instruction);
  void issue_all(std::int32_t first, std::int32_t last);
  void stop_issuing();
  void allocate(BufferId buffer);
  void free(BufferId buffer);
  void record_host_buffer(profiler::MemoryAction action, BufferId buffer);
  void poison(BufferId buffer);
  void launch(const Instruction& instruction);
  void copy(const Instruction& instruction);
  void issue_collective(const Instruction& instruction);
  void host_compute(const Instruction& instruction);
  double number_in(BufferId buffer);
  // Whether it is an update of a step that is skipped.
  bool is_skipped(const Instruction& instruction) const;

  const CostKey& key_of(const Instruction& i) const {
    return parts_.program.cost_keys[static_cast<std::size_t>(i.cost_key)];
  }
  const UnitLayout* unit_of(const Instruction& i) const;
  // Valid until the next call.
  KernelLaunch resolved(const Instruction& instruction);
  // Of the instruction at hand.
  Tag tag() const;

  const RankParts parts_;
  const bool poisons_, checks_launches_, skips_updates_;
  Device& device_;
  StepGraphs graphs_;
  RankMemory memory_;
  WorkerPool host_workers_;
  std::vector<std::span<const std::byte>> reads_;
  std::vector<std::span<std::byte>> writes_;

  // Of the step at hand.
  const Program* current_ = nullptr;
  KernelScalars scalars_;
  std::int64_t step_ = 0;
  std::int32_t index_ = 0;
  double loss_ = 0, gradient_norm_ = 0, own_loss_ = 0;
  bool updates_ = true;
};

}  // namespace foreshard::executor
