// NVML, as far as PyTorch, NCCL's users and tools that count devices ask it. The toolkit has no
// nvml.h: the functions are those of NVML's documentation. What is missing here a program finds
// missing.
#include <cstdio>
#include <cstring>

#include "profiler/rehearsal/device/device_memory.hpp"
#include "profiler/rehearsal/device/machine.hpp"
#include "profiler/rehearsal/device/real_libraries.hpp"

using namespace foreshard::rehearsal;

namespace {

// nvmlReturn_t
constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3;

// A handle is the device's number and one.
void* handle_of(unsigned device) {
  return reinterpret_cast<void*>(std::uintptr_t{device} + 1);
}

int device_of(void* handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle)) - 1;
}

struct Memory {  // nvmlMemory_t, in bytes
  unsigned long long total, free, used;
};

}  // namespace

extern "C" {

const char* nvmlErrorString(int result) {
  return result == kSuccess        ? "Success"
         : result == kNotSupported ? "Not Supported"
                                   : "Invalid Argument";
}

int nvmlInit_v2() {
  return kSuccess;
}

int nvmlInit() {
  return kSuccess;
}

int nvmlShutdown() {
  return kSuccess;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = cuda_version();
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(machine().devices);
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= static_cast<unsigned>(machine().devices)) return kInvalidArgument;
  *device = handle_of(index);
  return kSuccess;
}

// 0000:BUS:00.0, of which the bus is the device's number and one (devices.cpp).
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  unsigned domain = 0, bus = 0;
  if (std::sscanf(id, "%x:%x", &domain, &bus) != 2 || bus == 0) return kInvalidArgument;
  return nvmlDeviceGetHandleByIndex_v2(bus - 1, device);
}

int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "%s", machine().name.c_str());
  return kSuccess;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  std::snprintf(uuid, length, "GPU-00000000-0000-0000-0000-%012x",
                static_cast<unsigned>(device_of(device) + 1));
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const unsigned long long taken = used(device_of(device));
  *memory = {machine().memory_bytes, machine().memory_bytes - taken, taken};
  return kSuccess;
}

// Of other processes: none.
int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* count, void*) {
  *count = 0;
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, void*) {
  return kNotSupported;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) {
  return kNotSupported;
}

int nvmlDeviceGetGpuFabricInfoV(void*, void*) {
  return kNotSupported;
}

}  // extern "C"
