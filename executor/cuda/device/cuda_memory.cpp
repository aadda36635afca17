#include "executor/cuda/device/cuda_memory.hpp"

#include <utility>
#include <vector>

#include "executor/cuda/device/driver_call.hpp"

namespace foreshard::executor::cuda {
namespace {

CUdeviceptr address_of(const std::byte* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

std::size_t size(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

CUmemLocation location(int gpu) {
  CUmemLocation here{};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  here.id = gpu;
  return here;
}

CUmemAllocationProp properties(int gpu) {
  CUmemAllocationProp p{};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location = location(gpu);
  return p;
}

}  // namespace

CudaMemory::CudaMemory(int gpu, std::function<void()> synchronize)
    : gpu_(gpu), held_(held_memory(gpu)), accessing_{gpu}, synchronize_(std::move(synchronize)) {}

// What cannot be given back at the end goes with the process.
CudaMemory::~CudaMemory() {
  const HeldMemoryChange change(held_);
  for (auto& [address, mapping] : mappings_) {
    if (mapping.granule == 0) {
      static_cast<void>(cudaFree(mapping.base));
      held_.bytes -= mapping.bytes;
      continue;
    }
    for (const auto& [offset, memory] : mapping.granules) {
      static_cast<void>(calls_.unmap(address_of(mapping.base + offset), size(mapping.granule)));
      static_cast<void>(calls_.release(memory));
      held_.bytes -= mapping.granule;
    }
    static_cast<void>(calls_.release_addresses(address_of(mapping.base), size(mapping.bytes)));
  }
}

const VirtualMemoryCalls& CudaMemory::calls() {
  if (calls_.reserve == nullptr) {
    constexpr const char* kNeeds = "expandable segments";
    VirtualMemoryCalls found{};
    look_up("cuMemAddressReserve", kNeeds, found.reserve);
    look_up("cuMemAddressFree", kNeeds, found.release_addresses);
    look_up("cuMemCreate", kNeeds, found.create);
    look_up("cuMemRelease", kNeeds, found.release);
    look_up("cuMemMap", kNeeds, found.map);
    look_up("cuMemUnmap", kNeeds, found.unmap);
    look_up("cuMemSetAccess", kNeeds, found.set_access);
    calls_ = found;
  }
  return calls_;
}

bool CudaMemory::begin_range(AddressRange range, std::int64_t granule) {
  CUdeviceptr base = 0;
  const CUresult result = calls().reserve(&base, size(range.bytes), 0, 0, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
  check(result, "cuMemAddressReserve");
  mappings_.add(range.address, {reinterpret_cast<std::byte*>(base), range.bytes, granule});
  return true;
}

void CudaMemory::end_range(AddressRange range) {
  const Mapping& mapping = mappings_.around(range.address)->second;
  check(calls().release_addresses(address_of(mapping.base), size(mapping.bytes)),
        "cuMemAddressFree");
  mappings_.remove(range.address);
}

bool CudaMemory::commit(Address address, std::int64_t bytes) {
  const HeldMemoryChange change(held_);
  if (auto* const found = mappings_.around(address)) {
    Mapping& range = found->second;
    const std::int64_t begin = address - found->first;
    for (std::int64_t at = begin; at < begin + bytes; at += range.granule) {
      if (map_granule(range, at)) continue;
      unmap_granules(range, begin, at);
      return false;
    }
    return true;
  }
  void* base = nullptr;
  const cudaError_t error = cudaMalloc(&base, size(bytes));
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // it is not an error of the next call
    return false;
  }
  check(error, "cudaMalloc");
  held_.bytes += bytes;
  mappings_.add(address, {static_cast<std::byte*>(base), bytes});
  return true;
}

bool CudaMemory::map_granule(Mapping& range, std::int64_t offset) {
  const CUmemAllocationProp wanted = properties(gpu_);
  CUmemGenericAllocationHandle memory = 0;
  const CUresult result = calls_.create(&memory, size(range.granule), &wanted, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
  check(result, "cuMemCreate");
  held_.bytes += range.granule;
  const CUdeviceptr at = address_of(range.base + offset);
  check(calls_.map(at, size(range.granule), 0, memory, 0), "cuMemMap");
  allow_access(at, range.granule);
  range.granules[offset] = memory;
  return true;
}

void CudaMemory::allow_access(CUdeviceptr at, std::int64_t bytes) {
  std::vector<CUmemAccessDesc> accesses;
  for (const int gpu : accessing_) {
    accesses.push_back({location(gpu), CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  }
  check(calls_.set_access(at, size(bytes), accesses.data(), accesses.size()), "cuMemSetAccess");
}

void CudaMemory::share_with(const std::set<int>& gpus) {
  accessing_.insert(gpus.begin(), gpus.end());
  for (const auto& [address, mapping] : mappings_) {
    for (const auto& [offset, memory] : mapping.granules) {
      allow_access(address_of(mapping.base + offset), mapping.granule);
    }
  }
}

void CudaMemory::unmap_granules(Mapping& range, std::int64_t begin, std::int64_t end) {
  for (auto it = range.granules.lower_bound(begin);
       it != range.granules.end() && it->first < end;) {
    check(calls_.unmap(address_of(range.base + it->first), size(range.granule)), "cuMemUnmap");
    check(calls_.release(it->second), "cuMemRelease");
    held_.bytes -= range.granule;
    it = range.granules.erase(it);
  }
}

void CudaMemory::decommit(Address address, std::int64_t bytes) {
  synchronize_();
  const HeldMemoryChange change(held_);
  auto& [first, mapping] = *mappings_.around(address);
  if (mapping.granule > 0) {
    return unmap_granules(mapping, address - first, address - first + bytes);
  }
  check(cudaFree(mapping.base), "cudaFree");
  held_.bytes -= mapping.bytes;
  mappings_.remove(address);
}

}  // namespace foreshard::executor::cuda
