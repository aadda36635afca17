// What the driver's management library, NVML, says of memory: unlike the runtime it tells processes
// apart, and answers before a process has a context. libnvidia-ml.so.1 is loaded where it is there,
// and its calls are declared here: toolkits come without its header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/shared_library.hpp"

namespace foreshard::executor::cuda {

struct NvmlMemory {
  unsigned long long total, free, used;
};

struct NvmlProcess {
  unsigned process;
  unsigned long long used_memory;  // all ones: unknown
  unsigned gpu_instance, compute_instance;
};

using NvmlDevice = void*;

// As NVML names them; all return 0 on success.
struct NvmlCalls {
  int (*nvmlInit_v2)();
  int (*nvmlSystemGetDriverVersion)(char* version, unsigned length);
  int (*nvmlDeviceGetHandleByPciBusId_v2)(const char* bus_id, NvmlDevice* device);
  int (*nvmlDeviceGetMemoryInfo)(NvmlDevice device, NvmlMemory* memory);
  int (*nvmlDeviceGetComputeRunningProcesses_v3)(NvmlDevice device, unsigned* count,
                                                 NvmlProcess* processes);
};

// "580.95.05", or why it is not known.
Loaded<std::string> driver_version();

// One GPU, by its address ("0000:17:00.0").
class NvmlGpu {
 public:
  explicit NvmlGpu(const std::string& bus_id);

  // In bytes; nothing where NVML is not there or does not know.
  std::optional<std::int64_t> used() const;
  // In a container, processes may have other numbers outside, by which NVML calls them.
  std::optional<std::int64_t> used_by_this_process() const;

 private:
  const NvmlCalls* calls_;
  NvmlDevice device_ = nullptr;
};

}  // namespace foreshard::executor::cuda
