// libforeshard_cuda.so: what the program gets of it.
#include "executor/cuda/cuda_library.hpp"

#include <cublasLt.h>

#include "executor/cuda/communication/local_communicator.hpp"
#include "executor/cuda/communication/nccl_communicator.hpp"
#include "executor/cuda/device/cuda_device.hpp"
#include "executor/cuda/device/cuda_memory_meter.hpp"
#include "executor/cuda/kernels/check.hpp"
#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "executor/cuda/libraries/nvml.hpp"
#include "models/base/figures.hpp"
#include "models/sharding/cuda_device.hpp"

namespace foreshard::executor {
namespace {

// The oldest GPU that the kernels are made for: Ampere.
constexpr int kOldest = 80;

std::string gpu_name(const cudaDeviceProp& gpu) {
  return gpu.name;
}

class CudaLibraryHere final : public CudaLibrary {
 public:
  Result<std::vector<CudaDeviceInfo>> devices() const override;
  std::unique_ptr<Device> make_device(RunControl& run, int rank, int gpu,
                                      std::span<const StreamInfo> streams,
                                      const KernelChoices& choices) override {
    return std::make_unique<cuda::CudaDevice>(run, rank, gpu, streams, choices);
  }
  std::vector<std::unique_ptr<Communicator>> make_local_communicators(
      RunControl& run, std::span<Device* const> devices) override {
    return cuda::make_local_communicators(run, devices);
  }
  std::unique_ptr<GpuMemoryMeter> make_memory_meter(
      const std::map<int, std::vector<int>>& ranks_of_gpus) override {
    return cuda::make_memory_meter(ranks_of_gpus);
  }
  GpuLibraries libraries() const override;
  Result<std::string> nccl_version() const override { return cuda::nccl_version(); }
  std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(
      RunControl& run, std::span<Device* const> devices, std::span<const int> ranks,
      Transport* transport) override {
    return cuda::make_nccl_communicators(run, devices, ranks, transport);
  }
};

Result<std::vector<CudaDeviceInfo>> CudaLibraryHere::devices() const {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return fail("--device", "cuda",
                "there is no NVIDIA driver on this machine; expected one, or --device cpu");
  }
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());
    return fail("--device", "cuda",
                "no GPU is visible to this process; expected one (CUDA_VISIBLE_DEVICES may hide "
                "it), or --device cpu");
  }
  const bool has_cudnn = cuda::has_fused_attention();
  std::vector<CudaDeviceInfo> all;
  for (int gpu = 0; gpu < count; ++gpu) {
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
    const int capability = 10 * properties.major + properties.minor;
    if (capability < kOldest) {
      return fail("--device", "cuda",
                  gpu_name(properties) + " has compute capability " +
                      std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                      "; expected 8.0 or later");
    }
    CudaDeviceInfo& info = all.emplace_back();
    info.name = gpu_name(properties);
    info.traits = cuda_device(capability, properties.multiProcessorCount, has_cudnn);
    info.memory = Bytes{static_cast<std::int64_t>(properties.totalGlobalMem)};
    char bus[32] = "";
    cuda::check(cudaDeviceGetPCIBusId(bus, sizeof bus, gpu), "cudaDeviceGetPCIBusId");
    info.pci_bus_id = bus;
  }
  return all;
}

// "13.0" of 13000, as the runtime numbers CUDA.
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

GpuLibraries CudaLibraryHere::libraries() const {
  int driver = 0, runtime = 0;
  cuda::check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  cuda::check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const auto driver_version = cuda::driver_version();
  GpuLibraries all;
  all.driver = driver_version ? *driver_version : "unknown (" + driver_version.error() + ")";
  all.driver_cuda = cuda_version(driver);
  all.runtime = cuda_version(runtime);
  all.cublaslt = version_text(static_cast<std::int64_t>(cublasLtGetVersion()));
  all.attention = cuda::attention_library();
  return all;
}

}  // namespace
}  // namespace foreshard::executor

extern "C" __attribute__((visibility("default"))) foreshard::executor::CudaLibrary*
foreshard_make_cuda_library() {
  return new foreshard::executor::CudaLibraryHere;
}
