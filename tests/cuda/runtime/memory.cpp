// The runtime's memory on the host: of devices, pinned, and in pools, which hold memory of their
// device in steps of 2 MiB until they are trimmed or destroyed.
//
//   FORESHARD_HOST_CUDA_BYTES   memory of each device (default 64 GiB), beyond which cudaMalloc refuses
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include <cuda_runtime_api.h>

#include "tests/cuda/runtime/activities.hpp"
#include "tests/cuda/runtime/device.hpp"
#include "tests/cuda/runtime/graphs.hpp"

namespace foreshard::host_cuda {
namespace {

struct Pool {
  int device = 0;
  std::int64_t held = 0, used = 0;
};

struct Allocation {
  int device = 0;
  std::int64_t bytes = 0;
  Pool* pool = nullptr;
};

std::mutex mutex;
std::map<int, std::int64_t> taken;  // by device
std::map<void*, Allocation> allocations;
std::map<int, Pool> default_pools;

Pool& of(cudaMemPool_t pool) {
  return *reinterpret_cast<Pool*>(pool);
}

std::int64_t rounded(std::int64_t bytes) {
  constexpr std::int64_t kStep = std::int64_t{2} << 20;
  return (bytes + kStep - 1) / kStep * kStep;
}

// The following are called with the mutex held.

bool take_locked(int device, std::int64_t bytes) {
  if (taken[device] + bytes > capacity()) return false;
  taken[device] += bytes;
  return true;
}

Pool& default_pool() {
  const int device = current_device();
  return default_pools.try_emplace(device, Pool{device}).first->second;
}

void shrink(Pool& pool, std::int64_t to) {
  const std::int64_t held = std::clamp(rounded(to), rounded(pool.used), pool.held);
  taken[pool.device] -= pool.held - held;
  pool.held = held;
}

MemoryUse use_of(MemoryUse::Kind kind, const void* address, const Allocation& allocation) {
  const Pool* const pool = allocation.pool;
  return {
      kind, allocation.device, address, allocation.bytes, pool, pool == nullptr ? 0 : pool->held};
}

MemoryUse use_of(MemoryUse::Kind kind, const Pool& pool) {
  return {kind, pool.device, nullptr, 0, &pool, pool.held};
}

MemoryUse allocate(void** memory, std::int64_t bytes, Pool* pool) {
  const std::scoped_lock lock(mutex);
  const int device = pool == nullptr ? current_device() : pool->device;
  const std::int64_t more =
      pool == nullptr ? bytes : std::max<std::int64_t>(rounded(pool->used + bytes) - pool->held, 0);
  if (!take_locked(device, more)) return {};
  if (pool != nullptr) {
    pool->held += more;
    pool->used += bytes;
  }
  *memory = std::aligned_alloc(512, static_cast<std::size_t>(bytes + 511) / 512 * 512);
  return use_of(MemoryUse::Kind::allocated, *memory, allocations[*memory] = {device, bytes, pool});
}

MemoryUse free(void* memory) {
  const std::scoped_lock lock(mutex);
  const auto found = allocations.find(memory);
  if (found == allocations.end()) return {};
  const Allocation freed = found->second;
  allocations.erase(found);
  if (freed.pool == nullptr) {
    taken[freed.device] -= freed.bytes;
  } else {
    freed.pool->used -= freed.bytes;
  }
  const MemoryUse use = use_of(MemoryUse::Kind::freed, memory, freed);
  std::free(memory);
  return use;
}

cudaError_t allocate_as(const char* name, void** memory, std::size_t bytes, Pool* pool) {
  if (const cudaError_t error = check_capture()) return result(error);
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  call(name, [&] { return allocate(memory, static_cast<std::int64_t>(bytes), pool); });
  return result(*memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t free_as(const char* name, void* memory) {
  if (const cudaError_t error = check_capture()) return result(error);
  if (memory == nullptr) return cudaSuccess;
  bool is_known = false;
  call(name, [&] {
    const MemoryUse use = free(memory);
    is_known = use.kind != MemoryUse::Kind::none;
    return use;
  });
  return result(is_known ? cudaSuccess : cudaErrorInvalidValue);
}

}  // namespace

std::int64_t capacity() {
  const char* const text = std::getenv("FORESHARD_HOST_CUDA_BYTES");
  return text == nullptr ? std::int64_t{64} << 30 : std::atoll(text);
}

bool take(int device, std::int64_t bytes) {
  const std::scoped_lock lock(mutex);
  return take_locked(device, bytes);
}

void give_back(int device, std::int64_t bytes) {
  const std::scoped_lock lock(mutex);
  taken[device] -= bytes;
}

}  // namespace foreshard::host_cuda

using namespace foreshard::host_cuda;

extern "C" {

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  const std::scoped_lock lock(mutex);
  *total = static_cast<std::size_t>(capacity());
  *free_bytes = static_cast<std::size_t>(capacity() - taken[current_device()]);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return allocate_as("cudaMalloc", memory, bytes, nullptr);
}
cudaError_t cudaFree(void* memory) {
  return free_as("cudaFree", memory);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  if (const cudaError_t error = check_capture()) return result(error);
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  if (const cudaError_t error = check_capture()) return result(error);
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t /*stream*/) {
  Pool* pool = nullptr;
  {
    const std::scoped_lock lock(mutex);
    pool = &default_pool();
  }
  return allocate_as("cudaMallocAsync", memory, bytes, pool);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t /*stream*/) {
  return free_as("cudaFreeAsync", memory);
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int /*device*/) {
  const std::scoped_lock lock(mutex);
  *pool = reinterpret_cast<cudaMemPool_t>(&default_pool());
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t /*stream*/) {
  return allocate_as("cudaMallocFromPoolAsync", memory, bytes, &of(pool));
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  auto* const made = new Pool{properties->location.id};
  call("cudaMemPoolCreate", [&] { return use_of(MemoryUse::Kind::pool_created, *made); });
  *pool = reinterpret_cast<cudaMemPool_t>(made);
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t keep) {
  call("cudaMemPoolTrimTo", [&] {
    const std::scoped_lock lock(mutex);
    shrink(of(pool), static_cast<std::int64_t>(keep));
    return use_of(MemoryUse::Kind::pool_trimmed, of(pool));
  });
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  call("cudaMemPoolDestroy", [&] {
    const std::scoped_lock lock(mutex);
    shrink(of(pool), 0);
    return use_of(MemoryUse::Kind::pool_destroyed, of(pool));
  });
  delete &of(pool);
  return cudaSuccess;
}

}  // extern "C"
