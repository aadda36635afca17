// A training run: ranks, data, weights, checkpoints and recording around the interpreter.
//
// Ranks are threads of this process that meet in a local communicator, or processes that exchange
// messages (TCP or MPI), of which this one is a single rank. A rank that fails takes the run down, named;
// running out of device memory is a result, not a failure.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/communication/communicators.hpp"
#include "executor/communication/transport.hpp"
#include "executor/data/checkpoint.hpp"
#include "executor/data/tokens.hpp"
#include "executor/data/weight_source.hpp"
#include "executor/device/device.hpp"
#include "executor/device/fault.hpp"
#include "executor/device/gpu_memory_meter.hpp"
#include "executor/device/matmul_precision.hpp"
#include "executor/graphs/step_graphs.hpp"
#include "executor/run/step_report.hpp"
#include "models/allocator/memory_peaks.hpp"
#include "models/lowering/training/run_variant.hpp"
#include "models/program/gpu_libraries.hpp"
#include "models/program/oom_report.hpp"
#include "models/sharding/job.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"

namespace foreshard::executor {

struct TrainingOptions {
  std::int64_t steps = 1;        // number of the last step, counted from 1, also after a resume
  std::int64_t total_steps = 0;  // the schedule's length
  std::uint64_t seed = 0;
  bool shuffles = false;  // each epoch of the data in an order of its own
  MatmulPrecision matmul_precision = MatmulPrecision::highest;  // of make_device's devices
  int threads_per_rank = 1;
  int cores = 0;  // that all ranks share, for the trace; 0: this process' own
  std::optional<std::int64_t> device_memory;
  Nanoseconds hang_timeout{60'000'000'000};
  Fault fault;
  std::optional<Checkpoint> resume;
  std::string save, export_weights, export_gradients, trace;  // paths; empty: not wanted
  DType export_dtype =
      DType::fp32;  // of weights: a safetensors file, or a folder (model_folder.hpp)
  // Steps after which a checkpoint is written to save/step-<n>; 0: to `save` itself, at the end alone.
  std::int64_t save_every = 0;
  std::int64_t keep = 2;  // of these checkpoints, the newest
  CheckpointFormat save_format = CheckpointFormat::native;
  std::string log;      // path of the steps' lines (step_log.hpp); empty: not wanted
  std::string command;  // for the trace
  bool poisons = false;
  bool tunes_products = false;                       // see KernelChoices; of make_device's devices
  bool uses_graphs = false;                          // steps that are alike are launched as graphs
  bool tests_graphs = false;                         // where these pass a test
  bool checks_launches = false;                      // instructions are waited for one by one
  DeviceFactory make_device;                         // nothing: the CPU
  CommunicatorFactory make_communicators;            // nothing: the host's
  std::string device_name;                           // for the trace, where it is not the CPU
  std::optional<GpuLibraries> gpu_libraries;         // of such devices
  profiler::ActivityRecorder* activities = nullptr;  // of such devices, for the trace
  std::shared_ptr<GpuMemoryMeter> memory_meter;      // of such devices
  Transport* transport = nullptr;  // ranks are processes; this one is transport->rank()
  std::vector<int> nodes;          // of such processes, by rank
  // Called on rank 0's thread after each step.
  std::function<void(const StepReport&)> on_step;
  // An output could not be written; at once, from any thread.
  std::function<void(const Error&)> on_lost;
  // Set from a signal handler: the run ends after the step at hand, or with the operators at hand.
  const std::atomic<bool>* interrupt = nullptr;
  bool ends_within_step = false;
  // Steps whose loss or norm is not finite that are skipped, of the whole training; the next one ends the run.
  std::int64_t most_skipped = 0;
};

// Steps in a row whose peaks are the same. Programs repeat, so a run of any length has few such stretches.
struct StepsOfPeaks {
  MemoryPeaks peaks;
  std::int64_t steps = 0;
};

struct RankMemoryReport {
  int rank = 0;
  MemoryPeaks run;
  std::int64_t host = 0;
  std::vector<StepsOfPeaks> steps;  // that this run did, in order
};

// What held the memory of the rank that ran out of it.
struct HeldMemory {
  std::string category, owner;
  std::int64_t bytes = 0;
};

struct TrainingResult {
  std::int64_t first_step = 1;
  std::vector<StepReport> steps;         // of rank 0
  std::vector<RankMemoryReport> memory;  // of every rank
  std::vector<GpuMemory> gpus;           // of this process, where they are measured
  std::optional<GpuLibraries> gpu_libraries;
  bool ran_out_of_memory = false;
  std::optional<OomReport> oom;  // in the process whose rank it is
  std::vector<HeldMemory> held;  // by that rank then, largest first
  std::optional<Failure> failure;
  // What ended the run for not being finite; nothing has been written of it then.
  std::optional<std::string> not_finite;
  std::vector<Error> lost;  // outputs that could not be written
  bool was_interrupted = false;
  bool tuned_products = false;
  std::vector<std::string> warnings;  // that came up in this process
  std::optional<GraphReport> graphs;  // of rank 0, or of this process'; where they are asked for
};

// What a run does besides training, by its options.
RunVariant variant_of(const TrainingOptions& options);

// What this run is before its first step; of one that is resumed, with the checkpoint's step and samples.
RunState initial_state(const Job& job, const TokenData& data, const TrainingOptions& options);

// With which sample it begins, and in what order it reads them.
Result<SampleOrder> order_of(const TokenData& data, const TrainingOptions& options);

// What a user can cause before the first step is an error; what happens in the run and after it is in the
// result.
Result<TrainingResult> train(const Job& job, const TokenData& data, const WeightSource& weights,
                             const TrainingOptions& options);

}  // namespace foreshard::executor
