// The part of the CUDA runtime that Foreshard calls, on the host: device memory is the process' own,
// streams are threads (streams.hpp), and kernels that nvcc has compiled do nothing. Kernels compiled for
// emulation come as host functions and really run (tests/cuda/emulation).
//
//   FORESHARD_HOST_CUDA_DEVICES   GPUs that there are (default 1)
//   FORESHARD_HOST_CUDA_DRIVER=0  there is no driver
//   FORESHARD_HOST_CUDA_CAPABILITY  their compute capability, times ten (default 90)
//   FORESHARD_HOST_CUDA_BYTES     memory of each (default 64 GiB), beyond which cudaMalloc refuses
//   FORESHARD_HOST_CUDA_OTHERS    what other processes use of each device (default: 0, also below)
//   FORESHARD_HOST_CUDA_CONTEXT   what a context takes of its device
//   FORESHARD_HOST_CUDA_KERNELS   what kernels take, once one runs
//   FORESHARD_HOST_CUBLAS_BYTES   what a handle of cuBLASLt takes
//   FORESHARD_HOST_CUDA_PEERS=0   devices cannot access each other's memory
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda/runtime/activities.hpp"
#include "tests/cuda/runtime/device.hpp"
#include "tests/cuda/runtime/faults.hpp"
#include "tests/cuda/runtime/streams.hpp"

namespace foreshard::host_cuda {
namespace {

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t result(cudaError_t error) {
  if (lasting_error() != cudaSuccess) error = lasting_error();
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace

std::int64_t setting(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

int devices() {
  return static_cast<int>(setting("FORESHARD_HOST_CUDA_DEVICES", 1));
}

std::int64_t capacity() {
  return setting("FORESHARD_HOST_CUDA_BYTES", std::int64_t{64} << 30);
}

int current_device() {
  return current;
}

}  // namespace foreshard::host_cuda

using namespace foreshard::host_cuda;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = devices();
  return result(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= devices()) return result(cudaErrorInvalidDevice);
  current = device;
  use_device(device);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = setting("FORESHARD_HOST_CUDA_DRIVER", 1) != 0 ? CUDART_VERSION : 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= devices()) return result(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "Foreshard's host device");
  properties->totalGlobalMem = static_cast<std::size_t>(capacity());
  const auto capability = static_cast<int>(setting("FORESHARD_HOST_CUDA_CAPABILITY", 90));
  properties->major = capability / 10;
  properties->minor = capability % 10;
  properties->multiProcessorCount = 132;
  properties->maxThreadsPerBlock = 1024;
  properties->warpSize = 32;
  properties->pciBusID = device + 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int /*device*/) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrMultiProcessorCount: *value = 132; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    default: *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  return last_error;
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    default: return "an error of the host's runtime";
  }
}
const char* cudaGetErrorName(cudaError_t /*error*/) {
  return "cudaErrorOfTheHost";
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (const cudaError_t error = check_capture()) return result(error);
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  use_device(current);
  call("cudaMalloc", [&]() -> MemoryUse {
    const auto count = static_cast<std::int64_t>(bytes);
    if (!take(current, count)) return {};
    *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
    add_memory(*memory, bytes, current, false);
    return {MemoryUse::Kind::allocated, current, *memory, count};
  });
  return result(*memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned /*flags*/,
                                         int /*priority*/) {
  load_injection();
  use_device(current);
  *stream = reinterpret_cast<cudaStream_t>(new Stream(current));
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete &of(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t error = check_capture()) return result(error);
  return result(of(stream).synchronize());
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  use_device(current);
  *event =
      reinterpret_cast<cudaEvent_t>(new std::shared_ptr<Event>(std::make_shared<Event>(current)));
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const std::chrono::duration<float, std::milli> between =
      of(end)->reached_at() - of(begin)->reached_at();
  *milliseconds = between.count();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<std::shared_ptr<Event>*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  use_device(current);
  return result(of(stream).record(of(event)));
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  use_device(current);
  if (const cudaError_t error = check_capture()) return result(error);
  if (const Place place = of(event)->captured(); place.capture) {
    place.capture->invalidate();
    return result(cudaErrorCapturedEvent);
  }
  bool has_reached = false;
  call("cudaEventQuery", [&] {
    has_reached = of(event)->has_reached(of(event)->issued());
    return MemoryUse{};
  });
  if (lasting_error() != cudaSuccess) return lasting_error();
  return has_reached ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  use_device(current);
  return result(of(stream).wait(of(event)));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  const int device = of(stream).device();
  if (!can_copy(device, to) || !can_copy(device, from)) return result(cudaErrorInvalidValue);
  return result(issue("cudaMemcpyAsync", stream,
                      {Work::Kind::copy, "", static_cast<std::int64_t>(bytes)},
                      [=] { std::memmove(to, from, bytes); }));
}
cudaError_t cudaMemcpyPeerAsync(void* to, int /*to_device*/, const void* from, int /*device*/,
                                std::size_t bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return result(issue("cudaMemsetAsync", stream,
                      {Work::Kind::fill, "", static_cast<std::int64_t>(bytes)},
                      [=] { std::memset(memory, value, bytes); }));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return result(of(stream).issue([=] { function(argument); }));
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* /*kernel*/,
                                void** /*arguments*/) {
  const dim3 grid = config->gridDim, block = config->blockDim;
  const unsigned threads = block.x * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 || grid.z > 65535 ||
      threads == 0 || threads > 1024) {
    return result(cudaErrorInvalidConfiguration);
  }
  return result(
      issue("cudaLaunchKernelExC", config->stream, {Work::Kind::kernel, "_Z8compiledv"}, [] {}));
}

// What nvcc's host code registers.
void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*binary*/) {}
void __cudaUnregisterFatBinary(void** /*binary*/) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
char __cudaInitModule(void** /*binary*/) {
  return 1;
}

}  // extern "C"
