// The part of NVML that Foreshard calls, on the host.
//
//   FORESHARD_HOST_NVML   "process" (the default): NVML tells processes apart; "device": it calls
//                         this one by a number of its own, as in a container; "none": there is none
#include "executor/cuda/libraries/nvml.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "tests/cuda/runtime/device.hpp"

using foreshard::executor::cuda::NvmlDevice;
using foreshard::executor::cuda::NvmlMemory;
using foreshard::executor::cuda::NvmlProcess;
using namespace foreshard::host_cuda;

namespace {

constexpr int kSuccess = 0, kTooSmall = 7, kNoLibrary = 12;
constexpr unsigned kAnotherProcess = 1;
constexpr unsigned long long kUnknown = ~0ULL;

std::string kind() {
  const char* text = std::getenv("FORESHARD_HOST_NVML");
  return text == nullptr ? "process" : text;
}

int number(NvmlDevice device) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(device));
}

}  // namespace

extern "C" {

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::snprintf(version, length, "580.65.06");
  return kSuccess;
}
int nvmlInit_v2() {
  return kind() == "none" ? kNoLibrary : kSuccess;
}
// "0000:01:00.0" is device 0.
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, NvmlDevice* device) {
  constexpr int kHexadecimal = 16;
  const std::string bus = std::string(bus_id).substr(5, 2);
  *device = reinterpret_cast<NvmlDevice>(std::stol(bus, nullptr, kHexadecimal) - 1);
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  const std::int64_t all = used(number(device)) + used_by_others(number(device));
  memory->total = static_cast<unsigned long long>(capacity());
  memory->used = static_cast<unsigned long long>(all);
  memory->free = memory->total - memory->used;
  return kSuccess;
}
// Other processes come first, one of which keeps what it uses to itself.
int nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device, unsigned* count,
                                            NvmlProcess* processes) {
  constexpr unsigned kOthers = 20;
  const unsigned room = *count;
  const bool is_here = has_context(number(device));
  *count = kOthers + (is_here ? 1 : 0);
  if (room < *count) return kTooSmall;
  for (unsigned i = 0; i < kOthers; ++i) processes[i] = {kAnotherProcess, kUnknown, 0, 0};
  if (is_here) {
    const auto mine = static_cast<unsigned>(getpid());
    processes[kOthers] = {kind() == "process" ? mine : kAnotherProcess,
                          static_cast<unsigned long long>(used(number(device))), 0, 0};
  }
  return kSuccess;
}

}  // extern "C"
