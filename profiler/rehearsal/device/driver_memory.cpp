// Memory, copies and memsets by the driver.
#include <cstring>
#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/copies.hpp"
#include "profiler/rehearsal/device/device_memory.hpp"
#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/host_memory.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

using namespace foreshard::rehearsal;

namespace {

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

template <class Value>
void write(void* to, Value value) {
  std::memcpy(to, &value, sizeof value);
}

// 0 and false where the address is of no memory that CUDA knows.
void attribute(void* to, CUpointer_attribute which, CUdeviceptr address) {
  const auto block = find_block(address);
  const bool is_pinned_here = !block && is_pinned(pointer(address));
  const bool is_known = block || is_pinned_here;
  const int device = block ? block->device : current_device();
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      CUcontext context = nullptr;
      if (is_known) cuDevicePrimaryCtxRetain(&context, device);
      return write(to, context);
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write(to, block            ? CU_MEMORYTYPE_DEVICE
                       : is_pinned_here ? CU_MEMORYTYPE_HOST
                                        : CUmemorytype{});
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return write(to, is_known ? address : 0);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return write(to, is_pinned_here ? address : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(to, is_known ? device : CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return write(to, 0u);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return write(to, block ? block->address : 0);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return write(to, block ? block->bytes : 0);
    case CU_POINTER_ATTRIBUTE_MAPPED: return write(to, is_known);
    default: refuse("attribute " + std::to_string(which) + " of cuPointerGetAttribute");
  }
}

}  // namespace

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  return as_driver(cudaMemGetInfo(free, total));
}

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  void* allocated = nullptr;
  const cudaError_t error = bytes == 0 ? cudaErrorInvalidValue : cudaMalloc(&allocated, bytes);
  *address = number(allocated);
  return as_driver(error);
}

CUresult cuMemFree(CUdeviceptr address) {
  return as_driver(cudaFree(pointer(address)));
}

CUresult cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
  return as_driver(cudaHostAlloc(host, bytes, flags));
}

CUresult cuMemFreeHost(void* host) {
  return as_driver(cudaFreeHost(host));
}

CUresult cuMemHostRegister(void* host, std::size_t bytes, unsigned flags) {
  return as_driver(cudaHostRegister(host, bytes, flags));
}

CUresult cuMemHostUnregister(void* host) {
  return as_driver(cudaHostUnregister(host));
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  const auto block = find_block(address);
  if (!block) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = block->address;
  if (bytes != nullptr) *bytes = block->bytes;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
  if (!find_block(address) && !is_pinned(pointer(address))) return CUDA_ERROR_INVALID_VALUE;
  attribute(value, which, address);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* which, void** values,
                                CUdeviceptr address) {
  for (unsigned i = 0; i < count; ++i) attribute(values[i], which[i], address);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  copy(to, number(from), bytes, nullptr);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  copy(to, number(from), bytes, stream);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  copy(number(to), from, bytes, nullptr);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  copy(number(to), from, bytes, stream);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  copy(to, from, bytes, stream);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  copy(to, from, bytes, stream);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  set_bytes(to, value, bytes, stream);
  return CUDA_SUCCESS;
}

// Of words that are all the same byte; others are not needed yet.
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t words, CUstream stream) {
  if (value != (value & 0xFF) * 0x01010101u) refuse("cuMemsetD32Async with different bytes");
  set_bytes(to, static_cast<int>(value & 0xFF), 4 * words, stream);
  return CUDA_SUCCESS;
}
