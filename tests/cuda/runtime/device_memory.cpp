#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda/runtime/activities.hpp"
#include "tests/cuda/runtime/device.hpp"
#include "tests/cuda/runtime/graphs.hpp"

namespace foreshard::host_cuda {
namespace {

struct Region {
  std::size_t bytes;
  int device;
  bool is_mapped;
  std::set<int> allowed;  // where it is mapped
};

struct Use {
  std::int64_t bytes = 0;
  bool has_context = false, has_kernels = false;
};

std::mutex mutex;
std::map<int, Use> uses;  // by device
std::map<std::uintptr_t, Region> regions;
std::set<std::pair<int, int>> peers;  // who has access, to whom

const Region* region_around(const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto found = regions.upper_bound(address);
  if (found == regions.begin()) return nullptr;
  --found;
  return address - found->first < found->second.bytes ? &found->second : nullptr;
}

bool is_within_reach(int device, const Region& region) {
  if (region.is_mapped) return region.allowed.contains(device);
  return region.device == device || peers.contains({device, region.device});
}

// Once, of what the process takes without asking for it.
void take_once(int device, bool Use::*had, const char* bytes) {
  const std::scoped_lock lock(mutex);
  Use& use = uses[device];
  if (!std::exchange(use.*had, true)) use.bytes += setting(bytes, 0);
}

}  // namespace

void use_device(int device) {
  take_once(device, &Use::has_context, "FORESHARD_HOST_CUDA_CONTEXT");
}

void load_kernels(int device) {
  take_once(device, &Use::has_kernels, "FORESHARD_HOST_CUDA_KERNELS");
}

bool has_context(int device) {
  const std::scoped_lock lock(mutex);
  return uses[device].has_context;
}

void forget_contexts() {
  const std::scoped_lock lock(mutex);
  for (auto& [device, use] : uses) use.has_context = false;
}

bool take(int device, std::int64_t bytes) {
  const std::scoped_lock lock(mutex);
  Use& use = uses[device];
  if (use.bytes + used_by_others(device) + bytes > capacity()) return false;
  use.bytes += bytes;
  return true;
}

void give_back(int device, std::int64_t bytes) {
  const std::scoped_lock lock(mutex);
  uses[device].bytes -= bytes;
}

std::int64_t used(int device) {
  const std::scoped_lock lock(mutex);
  return uses[device].bytes;
}

std::int64_t used_by_others(int /*device*/) {
  return setting("FORESHARD_HOST_CUDA_OTHERS", 0);
}

void add_memory(const void* at, std::size_t bytes, int device, bool is_mapped) {
  const std::scoped_lock lock(mutex);
  regions[reinterpret_cast<std::uintptr_t>(at)] = {bytes, device, is_mapped, {}};
}

void remove_memory(const void* at) {
  const std::scoped_lock lock(mutex);
  regions.erase(reinterpret_cast<std::uintptr_t>(at));
}

void allow(const void* at, std::size_t bytes, const std::set<int>& devices) {
  const std::scoped_lock lock(mutex);
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  for (auto it = regions.lower_bound(begin); it != regions.end() && it->first < begin + bytes;
       ++it) {
    it->second.allowed.insert(devices.begin(), devices.end());
  }
}

bool can_touch(int device, const void* at) {
  const std::scoped_lock lock(mutex);
  const Region* const region = region_around(at);
  return region == nullptr || is_within_reach(device, *region);
}

// The driver copies what cudaMalloc has returned by detours if need be.
bool can_copy(int device, const void* at) {
  const std::scoped_lock lock(mutex);
  const Region* const region = region_around(at);
  return region == nullptr || !region->is_mapped || is_within_reach(device, *region);
}

bool can_touch_all(int device, const void* argument, std::size_t bytes) {
  if (devices() == 1) return true;
  for (std::size_t at = 0; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
    const void* address = nullptr;
    std::memcpy(&address, static_cast<const std::byte*>(argument) + at, sizeof address);
    if (!can_touch(device, address)) return false;
  }
  return true;
}

}  // namespace foreshard::host_cuda

using namespace foreshard::host_cuda;

extern "C" {

cudaError_t cudaDeviceCanAccessPeer(int* can, int /*from*/, int /*to*/) {
  *can = setting("FORESHARD_HOST_CUDA_PEERS", 1) != 0 ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned /*flags*/) {
  const std::scoped_lock lock(mutex);
  return peers.insert({current_device(), peer}).second ? cudaSuccess
                                                       : cudaErrorPeerAccessAlreadyEnabled;
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  const int device = current_device();
  use_device(device);
  *total = static_cast<std::size_t>(capacity());
  *free_bytes = static_cast<std::size_t>(capacity() - used(device) - used_by_others(device));
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (const cudaError_t error = check_capture()) return error;
  if (memory == nullptr) return cudaSuccess;
  bool is_known = false;
  call("cudaFree", [&]() -> MemoryUse {
    const std::scoped_lock lock(mutex);
    const auto found = regions.find(reinterpret_cast<std::uintptr_t>(memory));
    is_known = found != regions.end() && !found->second.is_mapped;
    if (!is_known) return {};
    const int device = found->second.device;
    const auto bytes = static_cast<std::int64_t>(found->second.bytes);
    uses[device].bytes -= bytes;
    regions.erase(found);
    return {MemoryUse::Kind::freed, device, memory, bytes};
  });
  if (!is_known) return cudaErrorInvalidValue;
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  if (const cudaError_t error = check_capture()) return error;
  use_device(current_device());
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  if (const cudaError_t error = check_capture()) return error;
  std::free(memory);
  return cudaSuccess;
}

}  // extern "C"
