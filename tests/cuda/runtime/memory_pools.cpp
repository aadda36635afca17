// The runtime's memory pools on the host: they hold memory of their device in steps of 2 MiB until
// they are trimmed or destroyed.
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
  Pool* pool = nullptr;
  std::int64_t bytes = 0;
};

std::mutex mutex;
std::map<void*, Allocation> allocations;
std::map<int, Pool> default_pools;

Pool& of(cudaMemPool_t pool) {
  return *reinterpret_cast<Pool*>(pool);
}

std::int64_t rounded(std::int64_t bytes) {
  constexpr std::int64_t kStep = std::int64_t{2} << 20;
  return (bytes + kStep - 1) / kStep * kStep;
}

Pool& default_pool(int device) {
  const std::scoped_lock lock(mutex);
  return default_pools.try_emplace(device, Pool{device}).first->second;
}

void shrink(Pool& pool, std::int64_t to) {
  const std::int64_t held = std::clamp(rounded(to), rounded(pool.used), pool.held);
  give_back(pool.device, pool.held - held);
  pool.held = held;
}

MemoryUse use_of(MemoryUse::Kind kind, const Pool& pool) {
  return {kind, pool.device, nullptr, 0, &pool, pool.held};
}

MemoryUse allocate(void** memory, std::int64_t bytes, Pool& pool) {
  const std::scoped_lock lock(mutex);
  const std::int64_t more = std::max<std::int64_t>(rounded(pool.used + bytes) - pool.held, 0);
  if (!take(pool.device, more)) return {};
  pool.held += more;
  pool.used += bytes;
  *memory = std::aligned_alloc(512, static_cast<std::size_t>(bytes + 511) / 512 * 512);
  allocations[*memory] = {&pool, bytes};
  return {MemoryUse::Kind::allocated, pool.device, *memory, bytes, &pool, pool.held};
}

cudaError_t allocate_as(const char* name, void** memory, std::size_t bytes, Pool& pool) {
  if (const cudaError_t error = check_capture()) return error;
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  use_device(pool.device);
  call(name, [&] { return allocate(memory, static_cast<std::int64_t>(bytes), pool); });
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

}  // namespace
}  // namespace foreshard::host_cuda

using namespace foreshard::host_cuda;

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  *pool = reinterpret_cast<cudaMemPool_t>(&default_pool(device));
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t /*stream*/) {
  return allocate_as("cudaMallocAsync", memory, bytes, default_pool(current_device()));
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t /*stream*/) {
  return allocate_as("cudaMallocFromPoolAsync", memory, bytes, of(pool));
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t /*stream*/) {
  if (const cudaError_t error = check_capture()) return error;
  if (memory == nullptr) return cudaSuccess;
  bool is_known = false;
  call("cudaFreeAsync", [&]() -> MemoryUse {
    const std::scoped_lock lock(mutex);
    const auto found = allocations.find(memory);
    is_known = found != allocations.end();
    if (!is_known) return {};
    const auto [pool, bytes] = found->second;
    allocations.erase(found);
    pool->used -= bytes;
    return {MemoryUse::Kind::freed, pool->device, memory, bytes, pool, pool->held};
  });
  if (!is_known) return cudaErrorInvalidValue;
  std::free(memory);
  return cudaSuccess;
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
