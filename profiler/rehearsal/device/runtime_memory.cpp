// Memory, copies and memsets by the runtime.
#include <cstdint>

#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/copies.hpp"
#include "profiler/rehearsal/device/device_memory.hpp"
#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/host_memory.hpp"
#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/machine.hpp"

using namespace foreshard::rehearsal;

namespace {

std::uintptr_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = machine().memory_bytes;
  *free = *total - used(current_device());
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return remembered(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  use_device(current_device());
  const auto address = allocate(current_device(), bytes);
  if (!address) return remembered(cudaErrorMemoryAllocation);
  *pointer = reinterpret_cast<void*>(*address);
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) use_device(current_device());  // the idiom that makes a context
  return pointer == nullptr || free_allocation(number(pointer)) ? cudaSuccess
                                                                : remembered(cudaErrorInvalidValue);
}

// In order with its stream, in which nothing is ever left to do.
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  return cudaFree(pointer);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  *pointer = allocate_pinned(bytes);
  return *pointer != nullptr || bytes == 0 ? cudaSuccess : remembered(cudaErrorMemoryAllocation);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  return pointer == nullptr || free_pinned(pointer) ? cudaSuccess
                                                    : remembered(cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  pin(pointer, bytes);
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
  return unpin(pointer) ? cudaSuccess : remembered(cudaErrorInvalidValue);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return is_pinned(host) ? cudaSuccess : remembered(cudaErrorInvalidValue);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  // Field by field: CUDA 12's structure ends with the last of these.
  const auto block = find_block(number(pointer));
  const bool is_of_host = !block && is_pinned(pointer);
  void* const address = const_cast<void*>(pointer);
  attributes->type = block        ? cudaMemoryTypeDevice
                     : is_of_host ? cudaMemoryTypeHost
                                  : cudaMemoryTypeUnregistered;
  attributes->device = block ? block->device : is_of_host ? current_device() : cudaInvalidDeviceId;
  attributes->devicePointer = block || is_of_host ? address : nullptr;
  attributes->hostPointer = block ? nullptr : address;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  copy(number(to), number(from), bytes, nullptr);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  copy(number(to), number(from), bytes, stream);
  return cudaSuccess;
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
  copy(number(to), number(from), bytes, stream);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  copy_rows(number(to), to_pitch, number(from), from_pitch, width, height, stream);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  set_bytes(number(to), value, bytes, nullptr);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  set_bytes(number(to), value, bytes, stream);
  return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  const auto address = variable_address(symbol);
  *pointer = reinterpret_cast<void*>(address);
  return address != 0 ? cudaSuccess : remembered(cudaErrorInvalidSymbol);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                               std::size_t offset, cudaMemcpyKind) {
  const auto address = variable_address(symbol);
  if (address == 0) return remembered(cudaErrorInvalidSymbol);
  copy(address + offset, number(from), bytes, nullptr);
  return cudaSuccess;
}
