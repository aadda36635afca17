// CUDA, loaded when a run asks for it: libforeshard_cuda.so has the device and its kernels, so that the
// program itself links to nothing of CUDA and starts on a machine without a driver.
//
// The library is built from this same source tree and shares its types. It has four rooms:
//   device/          one rank's GPU: streams, events, memory, graphs, and how far they have come
//   kernels/         the operators, each a function that launches kernels on a stream
//   communication/   collectives among ranks: threads that read each other's memory, or NCCL
//   libraries/       what is taken from NVIDIA's libraries when a run asks for it
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/communication/communicator.hpp"
#include "executor/communication/transport.hpp"
#include "executor/device/device.hpp"
#include "executor/device/gpu_memory_meter.hpp"
#include "executor/device/kernel_choices.hpp"
#include "models/base/device_traits.hpp"
#include "models/base/error.hpp"
#include "models/base/units.hpp"
#include "models/program/gpu_libraries.hpp"

namespace foreshard::executor {

// A GPU of this machine.
struct CudaDeviceInfo {
  std::string name;  // "NVIDIA H200"
  DeviceTraits traits;
  Bytes memory;  // of the whole device
  std::string pci_bus_id;
};

class CudaLibrary {
 public:
  virtual ~CudaLibrary() = default;

  // In the order in which CUDA numbers them (CUDA_VISIBLE_DEVICES applies). The error says what is
  // missing: the driver, a device, or a device that the kernels are made for.
  virtual Result<std::vector<CudaDeviceInfo>> devices() const = 0;

  // The device of one rank, on GPU number `gpu`. Throws std::runtime_error where CUDA refuses.
  virtual std::unique_ptr<Device> make_device(RunControl& run, int rank, int gpu,
                                              std::span<const StreamInfo> streams,
                                              const KernelChoices& choices) = 0;

  // One communicator for each member of a group whose ranks are threads of this process, by index:
  // devices made by this library, which copy and reduce from each other in the order of
  // communicator.hpp, so that several ranks can be on one GPU. They go after the streams of all members.
  // Throws std::runtime_error where GPUs cannot read each other's memory.
  virtual std::vector<std::unique_ptr<Communicator>> make_local_communicators(
      RunControl& run, std::span<Device* const> devices) = 0;

  // Measures the GPUs of a run, each with the ranks of this process that it has: made before the
  // first device. Throws std::runtime_error where CUDA refuses.
  virtual std::unique_ptr<GpuMemoryMeter> make_memory_meter(
      const std::map<int, std::vector<int>>& ranks_of_gpus) = 0;

  // What runs compute with, without NCCL and CUPTI, which they need not use.
  virtual GpuLibraries libraries() const = 0;

  // Of NCCL, where it can be used: "2.28.9". The error says what is missing.
  virtual Result<std::string> nccl_version() const = 0;
  // Those over NCCL, of ranks that have a GPU each: a CommunicatorFactory (communicators.hpp). Their
  // sums have NCCL's order. Throws std::runtime_error where NCCL refuses, and Aborted.
  virtual std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(
      RunControl& run, std::span<Device* const> devices, std::span<const int> ranks,
      Transport* transport) = 0;
};

// The error names what is missing.
Result<std::unique_ptr<CudaLibrary>> load_cuda_library(const std::string& directory);

}  // namespace foreshard::executor
