// Launches by the runtime, and what it tells of kernels.
#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/machine.hpp"

using namespace foreshard::rehearsal;

namespace {

// Of a launch in the <<<>>> notation, between its two halves.
thread_local Launch pushed{};

}  // namespace

cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void**,
                             std::size_t shared_bytes, cudaStream_t stream) {
  launch(registered_name(stub), {grid, block, shared_bytes, stream});
  return cudaSuccess;
}

cudaError_t cudaLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel(stub, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* stub,
                                void** arguments) {
  return cudaLaunchKernel(stub, config->gridDim, config->blockDim, arguments,
                          config->dynamicSmemBytes, config->stream);
}

// The runtime's own interface to code that nvcc has generated (crt/device_functions.h).
extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                     cudaStream_t stream) {
  pushed = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                       void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared_bytes = pushed.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = pushed.stream;
  return cudaSuccess;
}

// A kernel's handle is its stub.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

}  // extern "C"

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = kThreadsPerBlock;
  attributes->numRegs = kRegistersPerThread;
  attributes->ptxVersion = attributes->binaryVersion = machine().capability;
  attributes->maxDynamicSharedSizeBytes = kSharedPerBlock;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t shared_bytes) {
  *blocks = blocks_per_multiprocessor(threads, shared_bytes);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                   int threads,
                                                                   std::size_t shared_bytes,
                                                                   unsigned) {
  *blocks = blocks_per_multiprocessor(threads, shared_bytes);
  return cudaSuccess;
}
