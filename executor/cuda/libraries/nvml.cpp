#include "executor/cuda/libraries/nvml.hpp"

#include <unistd.h>

namespace foreshard::executor::cuda {
namespace {

constexpr int kSuccess = 0, kTooSmall = 7;

constexpr const char* kNvml = "libnvidia-ml.so.1";

Loaded<NvmlCalls> find_nvml() {
  const auto library = SharedLibrary::load(kNvml);
  if (!library) return tl::unexpected(library.error());
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    library->take(function, name, missing);
  };
  NvmlCalls calls{};
  find(calls.nvmlInit_v2, "nvmlInit_v2");
  find(calls.nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion");
  find(calls.nvmlDeviceGetHandleByPciBusId_v2, "nvmlDeviceGetHandleByPciBusId_v2");
  find(calls.nvmlDeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo");
  find(calls.nvmlDeviceGetComputeRunningProcesses_v3, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (missing != nullptr) {
    return tl::unexpected(library->path() + " is too old (it has no " + missing + ")");
  }
  if (const int result = calls.nvmlInit_v2(); result != kSuccess) {
    return tl::unexpected("nvmlInit_v2 fails: " + std::to_string(result));
  }
  return calls;
}

const Loaded<NvmlCalls>& nvml() {
  static const Loaded<NvmlCalls> calls = find_nvml();
  return calls;
}

}  // namespace

Loaded<std::string> driver_version() {
  if (!nvml()) return tl::unexpected(nvml().error());
  char version[80] = "";  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
  if (const int result = nvml()->nvmlSystemGetDriverVersion(version, sizeof version);
      result != kSuccess) {
    return tl::unexpected("nvmlSystemGetDriverVersion fails: " + std::to_string(result));
  }
  return version;
}

NvmlGpu::NvmlGpu(const std::string& bus_id) : calls_(nvml() ? &*nvml() : nullptr) {
  if (calls_ == nullptr) return;
  if (calls_->nvmlDeviceGetHandleByPciBusId_v2(bus_id.c_str(), &device_) != kSuccess) {
    calls_ = nullptr;
  }
}

std::optional<std::int64_t> NvmlGpu::used() const {
  NvmlMemory memory{};
  if (calls_ == nullptr) return {};
  if (calls_->nvmlDeviceGetMemoryInfo(device_, &memory) != kSuccess) return {};
  return static_cast<std::int64_t>(memory.used);
}

std::optional<std::int64_t> NvmlGpu::used_by_this_process() const {
  if (calls_ == nullptr) return {};
  std::vector<NvmlProcess> processes(16);
  for (;;) {
    auto count = static_cast<unsigned>(processes.size());
    const int result =
        calls_->nvmlDeviceGetComputeRunningProcesses_v3(device_, &count, processes.data());
    if (result == kSuccess) {
      processes.resize(count);
      break;
    }
    if (result != kTooSmall) return {};
    processes.resize(2 * processes.size());
  }
  for (const NvmlProcess& one : processes) {
    if (one.process != static_cast<unsigned>(getpid()) || one.used_memory == ~0ULL) continue;
    return static_cast<std::int64_t>(one.used_memory);
  }
  return {};
}

}  // namespace foreshard::executor::cuda
