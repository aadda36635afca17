// A device that exists only as numbers: it hands out descending addresses, as cudaMalloc mostly
// does, and counts its memory. The same sequence of calls gets the same addresses everywhere, so
// an allocator over it decides alike in a simulation and in a real run; the real run adds a
// backing, which is told when memory appears and disappears behind an address.
//
// Ordinary segments descend from kSegmentsTop. A released range is not reused before the addresses
// down to kRangesTop are used up; then the highest gap that fits is taken. The ranges of expandable
// segments descend from kRangesTop down to kFloor and are reused in the same way; each has room for
// 9/8 of the device, as PyTorch reserves.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "models/segment_source.hpp"

namespace foreshard {

// Told by VirtualSegments when memory starts or stops to exist behind a range of addresses.
class SegmentBacking {
 public:
  virtual ~SegmentBacking() = default;
  virtual void commit(Address address, std::int64_t bytes) = 0;
  virtual void decommit(Address address, std::int64_t bytes) = 0;
};

// Hands out ranges of addresses downwards from `top`, never below `floor`.
class DescendingAddresses {
 public:
  DescendingAddresses(Address top, Address floor) : top_(top), floor_(floor), next_(top) {}

  std::optional<Address> take(std::int64_t bytes);
  void give_back(Address address);

 private:
  std::optional<Address> highest_gap(std::int64_t bytes) const;

  Address top_, floor_, next_;
  std::map<Address, std::int64_t, std::greater<>> taken_;
};

class VirtualSegments final : public SegmentSource {
 public:
  static constexpr Address kSegmentsTop = 0x7f0000000000;
  static constexpr Address kRangesTop = 0x6f0000000000;
  static constexpr Address kFloor = 0x5f0000000000;

  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  explicit VirtualSegments(std::int64_t capacity = kUnlimited, SegmentBacking* backing = nullptr);

  std::optional<Address> reserve(std::int64_t bytes, int stream) override;
  void release(Address address, std::int64_t bytes) override;
  std::optional<AddressRange> reserve_range(std::int64_t granule, int stream) override;
  void release_range(AddressRange range) override;
  bool map(Address address, std::int64_t bytes) override;
  void unmap(Address address, std::int64_t bytes) override;

  std::int64_t used() const { return used_; }
  std::int64_t capacity() const { return capacity_; }

 private:
  bool commit(Address address, std::int64_t bytes);
  void decommit(Address address, std::int64_t bytes);

  std::int64_t capacity_;
  std::int64_t used_ = 0;
  SegmentBacking* backing_;
  DescendingAddresses segments_{kSegmentsTop, kRangesTop};
  DescendingAddresses ranges_{kRangesTop, kFloor};
};

}  // namespace foreshard
