// The real cuDNN, asked about GPUs that are described rather than there: libforeshard_cudnn.so over a driver
// library that does nothing (stand_in_driver.cmake). Its heuristics and its compiler need no more.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "models/program/attention_workspace.hpp"
#include "tests/models/program/workspace_table.hpp"

namespace foreshard::tests {

class DescribedCudnn {
 public:
  // Throws std::runtime_error where the libraries are not there.
  DescribedCudnn() {
    load(FORESHARD_STAND_IN_DRIVER, RTLD_NOW | RTLD_GLOBAL);
    void* const module = load(FORESHARD_CUDNN_MODULE, RTLD_NOW | RTLD_LOCAL);
    ask_ = reinterpret_cast<executor::cuda::CudnnWorkspace>(
        dlsym(module, "foreshard_cudnn_workspace"));
    if (ask_ == nullptr) throw std::runtime_error(dlerror());
  }

  // Of a pass over the attention, as runs do it. `compiles`: from the compiled plan.
  std::int64_t workspace(const DescribedGpu& gpu, const AttentionPass& pass,
                         const CostKey& attention, bool compiles = false) const {
    const auto [B, S, H, K, d, W] = attention.dims;
    const AttentionPart part = pass.part(attention, gpu);
    const std::string description = to_json(gpu);
    return ask_({description.c_str(),
                 gpu.compute_capability,
                 {part.batch, S, H / K * part.kv_heads, part.kv_heads, d, H, K},
                 pass.op == Operator::attention_backward,
                 pass.is_deterministic,
                 compiles});
  }

 private:
  static void* load(const char* path, int flags) {
    void* const library = dlopen(path, flags);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return library;
  }
  // Of an NVIDIA GPU, in cudnn-frontend's words.
  static std::string to_json(const DescribedGpu& gpu) {
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    return R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
           R"("regsPerBlock":65536,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
           R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,)"
           R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)"
           R"("supportCoopLaunch":1,"totalGlobalMem":85899345920,"smClockRateKHz":1980000,)"
           R"("memClockRateKHz":3201000,"l2CacheSize":52428800,"cudaDeviceId":0,)"
           R"("driverVer":13000,"deviceName":"NVIDIA","multiProcessorCount":)" +
           number(gpu.multiprocessors) + R"(,"maxSharedMemoryPerBlockOptin":)" +
           number(gpu.shared_memory) + R"(,"deviceVer":)" + number(10 * gpu.compute_capability) +
           "}";
  }

  executor::cuda::CudnnWorkspace ask_ = nullptr;
};

}  // namespace foreshard::tests
