// The driver's functions on the host: its virtual memory management (ranges are reserved address space,
// granules of it become accessible when memory is mapped there), and words that a stream writes.
#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include "tests/cuda/runtime/device.hpp"
#include "tests/cuda/runtime/graphs.hpp"
#include "tests/cuda/runtime/streams.hpp"

namespace foreshard::host_cuda {
namespace {

struct Memory {
  int device;
  std::size_t bytes;
};

CUresult reserve(CUdeviceptr* at, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
  void* base = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *at = reinterpret_cast<CUdeviceptr>(base);
  return CUDA_SUCCESS;
}
CUresult release_addresses(CUdeviceptr at, std::size_t bytes) {
  munmap(reinterpret_cast<void*>(at), bytes);
  return CUDA_SUCCESS;
}
CUresult create(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                const CUmemAllocationProp* properties, unsigned long long) {
  if (check_capture() != cudaSuccess) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  constexpr std::size_t kGranularity = std::size_t{2} << 20;
  if (bytes == 0 || bytes % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!take(properties->location.id, static_cast<std::int64_t>(bytes))) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle =
      reinterpret_cast<CUmemGenericAllocationHandle>(new Memory{properties->location.id, bytes});
  return CUDA_SUCCESS;
}
CUresult release(CUmemGenericAllocationHandle handle) {
  const auto* memory = reinterpret_cast<Memory*>(handle);
  give_back(memory->device, static_cast<std::int64_t>(memory->bytes));
  delete memory;
  return CUDA_SUCCESS;
}
CUresult map(CUdeviceptr at, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle handle,
             unsigned long long) {
  const auto* memory = reinterpret_cast<Memory*>(handle);
  if (memory->bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  add_memory(reinterpret_cast<void*>(at), bytes, memory->device, true);
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr at, std::size_t bytes) {
  remove_memory(reinterpret_cast<void*>(at));
  mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return CUDA_SUCCESS;
}
CUresult set_access(CUdeviceptr at, std::size_t bytes, const CUmemAccessDesc* accesses,
                    std::size_t count) {
  std::set<int> allowed;
  for (std::size_t i = 0; i < count; ++i) allowed.insert(accesses[i].location.id);
  allow(reinterpret_cast<void*>(at), bytes, allowed);
  return mprotect(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE) == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult write_value(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned /*flags*/) {
  const cudaError_t error = of(stream).issue(
      [at, value] { std::atomic_ref(*reinterpret_cast<cuuint64_t*>(at)).store(value); });
  return error == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

}  // namespace
}  // namespace foreshard::host_cuda

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                        unsigned /*version*/,
                                                        unsigned long long /*flags*/,
                                                        cudaDriverEntryPointQueryResult* status) {
  using namespace foreshard::host_cuda;
  static const std::map<std::string, void*> functions{
      {"cuMemAddressReserve", reinterpret_cast<void*>(reserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(release_addresses)},
      {"cuMemCreate", reinterpret_cast<void*>(create)},
      {"cuMemRelease", reinterpret_cast<void*>(release)},
      {"cuMemMap", reinterpret_cast<void*>(map)},
      {"cuMemUnmap", reinterpret_cast<void*>(unmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(set_access)},
      {"cuStreamWriteValue64", reinterpret_cast<void*>(write_value)}};
  const auto found = functions.find(name);
  *function = found == functions.end() ? nullptr : found->second;
  if (status != nullptr) {
    *status =
        found == functions.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}
