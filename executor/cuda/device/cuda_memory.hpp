// The memory behind one rank's caching allocator on a GPU: segments from cudaMalloc, expandable segments
// from the driver's virtual memory management (a reserved range of addresses, physical memory mapped
// into it part by part).
//
// The allocator's addresses are logical (models/allocator/virtual_segments.hpp); here they are
// translated. As several ranks may share a GPU, and other processes use it too, memory can run out
// before the declared capacity: then commit() refuses, and the allocator does what it does on a full
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "executor/cuda/device/held_memory.hpp"
#include "executor/device/mapped_ranges.hpp"
#include "models/allocator/virtual_segments.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor::cuda {

// The driver's calls for virtual memory, looked up through the runtime: nothing links to the driver.
struct VirtualMemoryCalls {
  CUresult (*reserve)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long);
  CUresult (*release_addresses)(CUdeviceptr, std::size_t);
  CUresult (*create)(CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*,
                     unsigned long long);
  CUresult (*release)(CUmemGenericAllocationHandle);
  CUresult (*map)(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                  unsigned long long);
  CUresult (*unmap)(CUdeviceptr, std::size_t);
  CUresult (*set_access)(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t);
};

// Of the rank's host thread, on its GPU. What the driver refuses for any other reason than a lack of
// memory is thrown as std::runtime_error.
class CudaMemory final : public SegmentBacking {
 public:
  // `synchronize` is called before memory goes.
  CudaMemory(int gpu, std::function<void()> synchronize);
  ~CudaMemory() override;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  // Lets other GPUs read and write what is mapped, now and later: peer access, which their contexts
  // have to what cudaMalloc returns, does not extend to it.
  void share_with(const std::set<int>& gpus);

  bool commit(Address address, std::int64_t bytes) override;
  void decommit(Address address, std::int64_t bytes) override;
  bool begin_range(AddressRange range, std::int64_t granule) override;
  void end_range(AddressRange range) override;

  std::byte* pointer(Address address) const { return mappings_.pointer(address); }  // if committed

 private:
  struct Mapping {
    std::byte* base = nullptr;
    std::int64_t bytes = 0;
    std::int64_t granule = 0;                                         // of a range
    std::map<std::int64_t, CUmemGenericAllocationHandle> granules{};  // that are mapped, by offset
  };
  const VirtualMemoryCalls& calls();
  bool map_granule(Mapping& range, std::int64_t offset);
  void allow_access(CUdeviceptr at, std::int64_t bytes);
  void unmap_granules(Mapping& range, std::int64_t begin, std::int64_t end);

  const int gpu_;
  HeldMemory& held_;
  std::set<int> accessing_;  // GPUs
  std::function<void()> synchronize_;
  MappedRanges<Mapping> mappings_;
  VirtualMemoryCalls calls_{};
};

}  // namespace foreshard::executor::cuda
