#include "cli/gpus.hpp"

#include "executor/communication/transport.hpp"
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

void use(const Gpus& gpus, int ranks, executor::TrainingOptions& options) {
  const int count = static_cast<int>(gpus.devices.size());
  options.make_device = [library = gpus.library.get(), count](executor::RunControl& run, int rank,
                                                              std::span<const StreamInfo> streams,
                                                              int /*threads*/) {
    return library->make_device(run, rank, rank % count, streams);
  };
  options.meet_locally = [library = gpus.library.get()](
                             executor::RunControl& run,
                             std::span<executor::Device* const> devices) {
    return library->make_local_communicators(run, devices);
  };
  const auto on_a_gpu = ceil_divide(ranks, count);
  if (!options.device_memory && on_a_gpu > 1) {
    options.device_memory = gpus.devices[0].memory.count / on_a_gpu;
  }
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
