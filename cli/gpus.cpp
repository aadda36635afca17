#include "cli/gpus.hpp"

#include <map>

#include "executor/communication/transport.hpp"
#include "executor/device/launch_check.hpp"
#include "models/base/figures.hpp"
#include "models/base/units.hpp"
#include "models/sharding/cuda_device.hpp"

namespace foreshard::cli {

Result<Gpus> gpus_of_this_machine() {
  auto library = executor::load_cuda_library(executor::module_directory());
  if (!library) return tl::unexpected(library.error());
  auto devices = (*library)->devices();
  if (!devices) return tl::unexpected(devices.error());
  return Gpus{std::move(*library), std::move(*devices)};
}

Result<void> use(const Gpus& gpus, const Processes& processes, int ranks,
                 executor::TrainingOptions& options) {
  options.gpu_libraries = gpus.cuda->libraries();
  if (processes.uses_nccl) {
    const auto version = gpus.cuda->nccl_version();
    if (!version) return tl::unexpected(version.error());
    options.gpu_libraries->nccl = *version;
  }
  if (options.activities != nullptr) {
    options.gpu_libraries->cupti = version_text(options.activities->version());
  }
  const int count = static_cast<int>(gpus.devices.size());
  const int only = processes.transport == nullptr ? executor::kNoRank : processes.index_here;
  options.checks_launches = executor::checks_launches();
  options.device_name = gpus.devices[0].name;
  const auto gpu_of = [count, only](int rank) {
    return (only == executor::kNoRank ? rank : only) % count;
  };
  std::map<int, std::vector<int>> ranks_of_gpus;
  for (int rank = 0; rank < ranks; ++rank) {
    if (processes.transport == nullptr || processes.transport->rank() == rank) {
      ranks_of_gpus[gpu_of(rank)].push_back(rank);
    }
  }
  options.memory_meter = gpus.cuda->make_memory_meter(ranks_of_gpus);
  options.make_device = [cuda = gpus.cuda.get(), gpu_of, precision = options.matmul_precision](
                            executor::RunControl& run, int rank,
                            std::span<const StreamInfo> streams, int /*threads*/) {
    return cuda->make_device(run, rank, gpu_of(rank), streams, precision);
  };
  options.make_communicators = [cuda = gpus.cuda.get(), uses_nccl = processes.uses_nccl](
                                   executor::RunControl& run,
                                   std::span<executor::Device* const> devices,
                                   std::span<const int> of_group, executor::Transport* transport) {
    return uses_nccl ? cuda->make_nccl_communicators(run, devices, of_group, transport)
                     : cuda->make_local_communicators(run, devices);
  };
  const auto on_a_gpu = ceil_divide(ranks, count);
  if (!options.device_memory && !processes.uses_nccl && on_a_gpu > 1) {
    options.device_memory = gpus.devices[0].memory.count / on_a_gpu;
  }
  return {};
}

Result<DeviceTraits> own_device(const std::string& device, const std::optional<Machine>& machine) {
  if (device == "cpu") return DeviceTraits{};
  if (machine) {
    const auto traits = cuda_device(*machine);
    if (traits) return *traits;
    return fail("--machine", machine->id,
                "has no GPU that Foreshard's kernels are made for; expected an NVIDIA GPU of "
                "compute capability 8.0 or later, or --device cpu");
  }
  auto gpus = gpus_of_this_machine();
  if (!gpus) return tl::unexpected(gpus.error());
  return gpus->devices.front().traits;
}

}  // namespace foreshard::cli
