// Metadata of the run that a trace belongs to. Every trace, measured or predicted, has these keys:
//
//   program_hash                    16 hexadecimal digits; instruction numbers are comparable only
//                                   between traces of equal hash. Empty: no program (an import)
//   model                           config.json's contents
//   plan                            the plan as TOML
//   ranks                           how many the run has
//   command                         the command line
//   versions                        of what wrote the file
//   clock                           what times are counted on
//   threads_per_rank
//   cpu_model                       of the machine that ran it, or that predicted
//   cores                           processors that all ranks shared, or that the prediction assumes
//   recorder_overhead_ns_per_event  what writing one record costs the thread that does it
//   recorder_overhead_fraction      of the ranks' step time, at most, spent on recording
//   predicted                       1: a prediction, 0: a measurement
//   complete                        1 once closed cleanly
//   complete_until_ns               nothing that ended before this moment is missing
//
// and, where they apply:
//
//   question                        what the run or the prediction answers, as the object of docs/json.md
//   instruction_set                 what the kernels of a run on the CPU were computed with
//   matmul_precision                how products of fp32 are computed: "highest" or "high" (TF32)
//   tuned_products                  1: kernels of matrix products were timed and the quickest taken
//   device.R                        the accelerator of rank R, by name
//   compute_capability,             of the accelerator that a step program of ours was made for, as
//   multiprocessors,                DeviceTraits has them
//   matmul_workspace_bytes,
//   fused_attention, deterministic
//   gpu_libraries                   what a run on GPUs was computed with, as JSON
//                                   (models/program/gpu_libraries.hpp)
//   processes, process              how many wrote parts of this recording, and which one this is
//   clock_origin_ns, clock_id       the moment of the clock that times count from, and whose clock
//   programs                        of a prediction of programs that were not lowered from a model and
//                                   a plan: themselves, as JSON (program_json.hpp)
//   rank_classes                    "0,0,2,2": for every rank the one that stands for it in here
//   selection                       of a part of a trace: which it is, in words (selection.hpp)
//   recorded_ranks                  and how many ranks the whole has
//   end_reason                      why the run ended where it was not its last step
//   unknown_costs                   of a prediction: operations per step without a known cost;
//                                   times of such a prediction are not meaningful
//   data_sheet                      of a prediction: the machine whose data sheet modelled costs are from
//   gpu_memory.RANK                 what was measured of the GPU whose first rank this is, as JSON
//                                   (models/program/gpu_memory.hpp)
//   outside_allocator_bytes,        of a prediction: device memory that no allocator holds, and its
//   outside_allocator_low_bytes,    likely range
//   outside_allocator_high_bytes
//   device_memory_bytes             what each rank's allocator may take of its device
//   step_time_low_ns,               within which a measured step lies with 90 %, of a prediction
//   step_time_high_ns
//   mfu                             of a prediction: model FLOPs over what the devices could do
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/device_traits.hpp"
#include "models/base/error.hpp"
#include "models/program/gpu_libraries.hpp"
#include "models/program/gpu_memory.hpp"

namespace foreshard::traces {

using Metadata = std::map<std::string, std::string>;

constexpr const char* kGpuMemoryKey = "gpu_memory.";  // with a rank behind it
constexpr const char* kGpuLibrariesKey = "gpu_libraries";
constexpr const char* kOutsideKey = "outside_allocator_bytes";
constexpr const char* kOutsideLowKey = "outside_allocator_low_bytes";
constexpr const char* kOutsideHighKey = "outside_allocator_high_bytes";

struct RunDescription {
  std::uint64_t program_hash = 0;  // 0: no program
  std::string model_json;
  std::string plan_toml;
  std::string command;
  int ranks = 1;
  int threads_per_rank = 1;
  bool predicted = false;
  Metadata more;  // further keys, which win over those above
};

// All keys that are always there, with values for this machine and build.
Metadata run_metadata(const RunDescription& run);

// The value of a key as an integer, or `fallback` where it is absent or no number.
std::int64_t integer(const Metadata& metadata, const std::string& key, std::int64_t fallback);

// The same within bounds, and an error that names `file` where it is not such a number. What is empty
// was not known.
Result<std::int64_t> integer_between(const Metadata& metadata, const std::string& key,
                                     std::int64_t least, std::int64_t most, std::int64_t fallback,
                                     const std::string& file);

// The GPUs that were measured, by their first rank.
std::vector<GpuMemory> gpus_memory(const Metadata& metadata);

// Nothing of a run on a CPU, and of recordings of other programs.
std::optional<GpuLibraries> gpu_libraries(const Metadata& metadata);

// What tells the device that a step program was made for; nothing of a CPU.
Metadata device_metadata(const DeviceTraits& device);

// That device; a CPU where there is none of those keys. An error where one is no such number.
Result<DeviceTraits> recorded_device(const Metadata& metadata, const std::string& file);

// The value of a key as a decimal number, such as a share, or `fallback`.
double number(const Metadata& metadata, const std::string& key, double fallback);

// "Intel(R) Xeon(R) ...", or empty where unknown.
std::string cpu_model();

// The same for all processes that share a monotonic clock: one boot of one machine. Empty where the
// system does not show.
std::string clock_id();

}  // namespace foreshard::traces
