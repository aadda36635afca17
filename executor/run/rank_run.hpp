// One rank of a run: its program and interpreter, the host's work, and the loop over steps.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "executor/communication/message_communicator.hpp"
#include "executor/run/interpreter.hpp"
#include "executor/run/rank_state.hpp"
#include "executor/run/state_copy.hpp"
#include "executor/run/training.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::executor {

class Keeper;
class RankRun;

// What a rank has on its host for a checkpoint.
struct RankValues {
  const RankRun* run = nullptr;
  std::vector<CheckpointValue> values;
};

// What the ranks of this process share.
struct RunShared {
  RunShared(const Job& of_job, const TokenData& tokens, const WeightSource& initial,
            const TrainingOptions& opts)
      : job(of_job),
        data(tokens),
        weights(initial),
        options(opts),
        run(of_job.ranks),
        closing(of_job.ranks),
        agreements{OutOfMemoryAgreement(of_job.ranks),
                   opts.transport == nullptr
                       ? LastStepAgreement(0, 1)
                       : LastStepAgreement(opts.transport->rank(), opts.transport->size())} {}

  // Whether a rank may begin a step; after an interrupt all end with the same one.
  bool may_begin(std::int64_t step);
  // Passes the interrupt on.
  void look_for_interrupt();
  // Where the devices' memory is measured.
  void look_at_memory(MemoryMoment moment) const {
    if (options.memory_meter) options.memory_meter->look(moment);
  }
  // A rank has done its first step.
  void first_step_done();
  // An output that could not be written is told at once, and part of the result. Any thread.
  void note(const Result<void>& output);
  std::vector<Error> lost() const;

  const Job& job;
  const TokenData& data;
  const WeightSource& weights;
  const TrainingOptions& options;
  RunControl run;      // the steps
  RunControl closing;  // what the processes do together afterwards
  Agreements agreements;
  std::int64_t first_step = 1;
  SampleOrder order;
  std::atomic<int> beyond_first_step{0};  // ranks
  Keeper* keeper = nullptr;               // of what is left on the way

 private:
  mutable std::mutex mutex_;
  std::vector<Error> lost_;
};

class RankRun final : public HostWork {
 public:
  RankRun(RunShared& shared, int rank);

  // Throws std::runtime_error where there are not threads enough.
  void open_device();
  // Then, with the communicators of its device; `recorder` may be nullptr.
  void prepare(const GroupCommunicators& communicators, profiler::Recorder* recorder);
  // The whole run of this rank, on its own thread; never throws.
  void run();
  // After the runs of all ranks, before anything they share goes. The memory stays.
  void stop_streams() {
    device_->stop();
    interpreter_->graphs().drop();
  }

  int rank() const { return rank_; }
  const RankProgram& program() const { return program_; }
  Device& device() const { return *device_; }
  const RankState& state() const { return state_; }
  const RankMemory& memory() const { return interpreter_->memory(); }
  // What the closing programs have left on the host.
  RankValues closing_values() const { return {this, state_.checkpoint_values(memory())}; }
  // What the step has left, copied to the host; by the rank's host thread, good until the next copy.
  RankValues copied_values(std::int64_t step);
  GraphReport graph_report() const { return interpreter_->graphs().report(); }
  // The steps done, kept by the first rank of each process alone, and the last one.
  const std::vector<StepReport>& steps() const { return steps_; }
  const std::optional<StepReport>& last_step() const { return last_step_; }
  const RankMemoryReport& memory_report() const { return memory_report_; }
  // Whether the run went through, every step and all of the streams' work; any thread.
  bool has_finished() const { return has_finished_.load(std::memory_order_acquire); }
  // See Device; any thread.
  bool has_finished(Tag last) const { return device_->has_finished(last); }
  // The gradients of the first step by parameter, this rank's shards in fp32 (export_gradients).
  const std::map<ParameterId, std::vector<float>>& gradients() const { return gradients_; }
  // What is allocated at this moment, by category and owner, largest first.
  std::vector<HeldMemory> held_at(const OutOfMemoryPoint& point) const;

  void initialize_shard(const ParameterShard& shard, DType storage, std::span<std::byte> bytes,
                        WorkerPool& workers) override;
  void load_batch(std::int64_t step, int micro_step, std::span<std::int32_t> tokens,
                  std::span<std::int32_t> targets) override;
  void restore_state(const ParameterShard& shard, ValueRole role, DType type,
                     std::span<std::byte> bytes) override;
  void take_gradient(const UnitLayout& unit, DType type,
                     std::span<const std::byte> gradient) override;

 private:
  void run_steps();
  void run_closing(std::int64_t step);
  void note_memory(std::int64_t step);

  RunShared& shared_;
  const int rank_;
  const RankProgram program_;
  const RankState state_;
  const std::vector<int> processors_;  // of all its threads; none: they are free
  KernelScalars scalars_;
  std::optional<RankRecording> recording_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Interpreter> interpreter_;
  std::optional<StateCopy> copy_;
  std::vector<StepReport> steps_;
  std::optional<StepReport> last_step_;
  RankMemoryReport memory_report_;
  std::map<ParameterId, std::vector<float>> gradients_;
  std::atomic<bool> has_finished_{false};
};

}  // namespace foreshard::executor
