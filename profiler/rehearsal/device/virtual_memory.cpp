// Virtual memory management: memory without an address, addresses without memory, and one mapped to
// the other. PyTorch's expandable segments are made of it. A device's memory is taken when the
// memory is created and given back when it has neither a handle nor a mapping ("Virtual Memory
// Management" in the CUDA driver API).
#include <map>
#include <mutex>

#include <cuda.h>

#include "profiler/rehearsal/device/device_memory.hpp"
#include "profiler/rehearsal/device/devices.hpp"

using namespace foreshard::rehearsal;

namespace {

struct Physical {
  std::size_t bytes;
  int device;
  int holders = 1;  // its handle, and its mappings
};

struct Mapping {
  std::size_t bytes;
  CUmemGenericAllocationHandle physical;
};

std::mutex mutex;
CUmemGenericAllocationHandle last_handle = 0;
auto& physical() {
  static auto& physical = *new std::map<CUmemGenericAllocationHandle, Physical>;
  return physical;
}
auto& mappings() {
  static auto& mappings = *new std::map<CUdeviceptr, Mapping>;
  return mappings;
}

CUresult release(CUmemGenericAllocationHandle handle) {
  const auto at = physical().find(handle);
  if (at == physical().end()) return CUDA_ERROR_INVALID_VALUE;
  if (--at->second.holders > 0) return CUDA_SUCCESS;
  give_back(at->second.device, at->second.bytes);
  physical().erase(at);
  return CUDA_SUCCESS;
}

bool is_whole_pages(std::size_t bytes) {
  return bytes > 0 && bytes % kPage == 0;
}

}  // namespace

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = kPage;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr, unsigned long long) {
  if (!is_whole_pages(bytes)) return CUDA_ERROR_INVALID_VALUE;
  *address = reserve(bytes, alignment);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t) {
  return free_reservation(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long) {
  const int device = properties->location.id;
  if (!is_whole_pages(bytes) || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      !is_device(device))
    return CUDA_ERROR_INVALID_VALUE;
  if (!take(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex);
  *handle = ++last_handle;
  physical()[*handle] = {bytes, device};
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex);
  return release(handle);
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  const std::lock_guard lock(mutex);
  const auto at = physical().find(handle);
  if (at == physical().end() || offset != 0 || bytes > at->second.bytes ||
      !is_device_memory(address))
    return CUDA_ERROR_INVALID_VALUE;
  ++at->second.holders;
  mappings()[address] = {bytes, handle};
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc*,
                        std::size_t) {
  make_accessible(address, bytes);
  return CUDA_SUCCESS;
}

// All mappings of the range.
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  auto at = mappings().lower_bound(address);
  while (at != mappings().end() && at->first < address + bytes) {
    release(at->second.physical);
    at = mappings().erase(at);
  }
  make_inaccessible(address, bytes);
  return CUDA_SUCCESS;
}
