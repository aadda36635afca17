#include "executor/cuda/libraries/nvml.hpp"

#include <type_traits>

#include <dlfcn.h>
#include <unistd.h>

namespace foreshard::executor::cuda {
namespace {

constexpr int kSuccess = 0, kTooSmall = 7;

std::optional<NvmlCalls> find_nvml() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  bool has_all = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    has_all = has_all && function != nullptr;
  };
  NvmlCalls calls{};
  find(calls.nvmlInit_v2, "nvmlInit_v2");
  find(calls.nvmlDeviceGetHandleByPciBusId_v2, "nvmlDeviceGetHandleByPciBusId_v2");
  find(calls.nvmlDeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo");
  find(calls.nvmlDeviceGetComputeRunningProcesses_v3, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (!has_all || calls.nvmlInit_v2() != kSuccess) return {};
  return calls;
}

const NvmlCalls* nvml() {
  static const std::optional<NvmlCalls> calls = find_nvml();
  return calls ? &*calls : nullptr;
}

}  // namespace

NvmlGpu::NvmlGpu(const std::string& bus_id) : calls_(nvml()) {
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
