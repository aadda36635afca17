// Where the caching allocator's memory comes from: the driver, as the allocator sees it.
//
// An ordinary segment is one cudaMalloc: an address range with memory behind it. An expandable
// segment is a large range of addresses without memory, parts of which are mapped and unmapped
// later. The allocator decides how much to request and when to give it back; the source decides
// where, and refuses when the device is full.
#pragma once

#include <cstdint>
#include <optional>

namespace foreshard {

// A device address. Addresses are logical: whoever owns the backing may translate them.
using Address = std::int64_t;

struct AddressRange {
  Address address = 0;
  std::int64_t bytes = 0;
  bool operator==(const AddressRange&) const = default;
};

class SegmentSource {
 public:
  virtual ~SegmentSource() = default;

  // The address of a new segment of exactly `bytes` (a multiple of 2 MiB), or nothing when the
  // device is full.
  virtual std::optional<Address> reserve(std::int64_t bytes, int stream) = 0;
  virtual void release(Address address, std::int64_t bytes) = 0;

  // Addresses for an expandable segment whose memory is mapped in whole granules: as many as the
  // device could ever fill, and at least so many; a source that has none left returns nothing.
  virtual std::optional<AddressRange> reserve_range(std::int64_t granule, std::int64_t at_least,
                                                    int stream) = 0;
  virtual void release_range(AddressRange range) = 0;

  // Puts memory behind a part of a reserved range (all of it, or none: false, the device is full).
  virtual bool map(Address address, std::int64_t bytes) = 0;
  virtual void unmap(Address address, std::int64_t bytes) = 0;
};

}  // namespace foreshard
