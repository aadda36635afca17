// The memory behind one rank's caching allocator on the CPU device.
//
// The allocator's addresses are logical; here they are translated to pointers. Every segment is a
// mapping of its own; an expandable segment's range is reserved as a whole and made accessible part
// by part. Pages go back to the operating system when the allocator releases them, and nothing is
// touched in advance, so the resident size is what was really used.
//
// As cudaFree does, a release first waits for the device: pages go only when no stream of the rank
// can still be using them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "executor/device/mapped_ranges.hpp"
#include "models/allocator/virtual_segments.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

// All ranges are multiples of 4 KiB. Where the system has no room it refuses, as cudaMalloc does, and
// nothing is changed; any other failure is thrown as std::runtime_error.
class DeviceMemory final : public SegmentBacking {
 public:
  // `synchronize` is called before pages go.
  explicit DeviceMemory(std::function<void()> synchronize);
  ~DeviceMemory() override;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  bool commit(Address address, std::int64_t bytes) override;
  void decommit(Address address, std::int64_t bytes) override;
  bool begin_range(AddressRange range, std::int64_t granule) override;
  void end_range(AddressRange range) override;

  std::byte* pointer(Address address) const { return mappings_.pointer(address); }  // if committed
  Bytes committed() const { return committed_; }

 private:
  struct Mapping {
    std::byte* base = nullptr;
    std::int64_t bytes = 0;
    bool is_range = false;
  };
  bool map(Address address, std::int64_t bytes, bool is_range);
  void unmap(Address address);

  MappedRanges<Mapping> mappings_;
  Bytes committed_;
  std::function<void()> synchronize_;
};

}  // namespace foreshard::executor
