// The GPUs that a command may use: those of this machine, or the kind that --machine names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/options.hpp"
#include "cli/processes.hpp"
#include "executor/cuda/cuda_library.hpp"
#include "executor/run/training.hpp"
#include "models/base/device_traits.hpp"
#include "models/hardware/hardware.hpp"
#include "models/question/asked.hpp"

namespace foreshard::cli {

struct Gpus {
  std::unique_ptr<executor::CudaLibrary> cuda;
  std::vector<executor::CudaDeviceInfo> devices;  // never empty
};

Result<Gpus> gpus_of_this_machine();

// The run uses them, which outlive it: the ranks of a machine take its GPUs in turns. Those that share
// one have equal parts of its memory, where `options` sets no limit. Whether the run is recorded is in
// `options` before. The error says that NCCL, which `processes` want, cannot be used.
Result<void> use(const Gpus& gpus, const Processes& processes, const Job& job,
                 executor::TrainingOptions& options);

// What computes attention in bf16 on a GPU (--attention): cuDNN or the plain kernel.
struct AttentionChoice {
  std::string wish = "auto";

  void add_to(Options& options);
  // The error says that the CPU (`device` "cpu") has no choice.
  Result<void> check(const std::string& device) const;
  DeviceTraits apply(DeviceTraits traits) const;
};

// What Foreshard's operators run on by --device ("cpu" or "cuda") and --machine: a GPU of that machine,
// or else of this one.
Result<DeviceTraits> own_device(const std::string& device, const AttentionChoice& attention,
                                const std::optional<Machine>& machine);
// The same for a question that is being made.
OwnDevice own_device_by(const AttentionChoice& attention);

}  // namespace foreshard::cli
