// A device that exists only as numbers: it hands out descending addresses, as cudaMalloc mostly
// does, and counts its memory. The same sequence of calls gets the same addresses everywhere, so
// an allocator over it decides alike in a simulation and in a real run; the real run adds a
// backing, which puts memory behind an address and takes it away.
//
// A backing may refuse before the declared capacity is used up, as a driver does whose memory others
// use too. A refusal leaves no trace: the next request is answered as if the refused one had never
// been made.
//
// All addresses lie in [kLowest, kLowest + kSpan), 3 TiB: ordinary segments in the upper TiB, the
// ranges of expandable ones below it. Addresses descend without reuse until the part is used up; then
// the highest gap that fits is taken. Only a device larger than that, which can exist in a simulation
// alone, gets addresses below kLowest. A range has room for 9/8 of the device, as PyTorch reserves.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "models/allocator/segment_source.hpp"

namespace foreshard {

// The memory behind ranges of addresses that VirtualSegments has chosen.
class SegmentBacking {
 public:
  virtual ~SegmentBacking() = default;
  // Memory for a new segment, or for a part of a range; false: there is none.
  [[nodiscard]] virtual bool commit(Address address, std::int64_t bytes) = 0;
  virtual void decommit(Address address, std::int64_t bytes) = 0;
  // A range whose parts are committed later, in whole granules (false: there are no such addresses), and
  // its end, with nothing committed in it any more.
  [[nodiscard]] virtual bool begin_range(AddressRange range, std::int64_t granule) = 0;
  virtual void end_range(AddressRange range) = 0;
};

// Hands out addresses downwards from `top` to `floor`, and then from what was given back.
class DescendingAddresses {
 public:
  DescendingAddresses(Address top, Address floor) : top_(top), floor_(floor), next_(top) {}

  std::optional<Address> take(std::int64_t bytes);
  // The same in two steps: what the next `bytes` would get, and taking it.
  std::optional<Address> next(std::int64_t bytes);
  void take(Address next, std::int64_t bytes);
  void give_back(Address address);

 private:
  std::optional<Address> highest_gap(std::int64_t bytes);
  std::vector<AddressRange>::iterator find(Address address);
  void drop_given_back();

  static constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();

  Address top_, floor_, next_;
  // Descending. One that was given back is left empty, until half of them are.
  std::vector<AddressRange> taken_;
  std::size_t given_back_ = 0;
  // No gap holds that much, found out since the last address was given back: a part that is used up is
  // not searched again for every segment that has to lie elsewhere.
  std::int64_t too_large_ = kNoBound;
};

class VirtualSegments final : public SegmentSource {
 public:
  static constexpr std::int64_t kSpan = std::int64_t{3} << 40;
  static constexpr Address kTop = 0x7f0000000000;
  static constexpr Address kLowest = kTop - kSpan;

  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  explicit VirtualSegments(std::int64_t capacity = kUnlimited, SegmentBacking* backing = nullptr);

  std::optional<Address> reserve(std::int64_t bytes, int stream) override;
  void release(Address address, std::int64_t bytes) override;
  std::optional<AddressRange> reserve_range(std::int64_t granule, std::int64_t at_least,
                                            int stream) override;
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
  DescendingAddresses segments_, ranges_;
  DescendingAddresses far_segments_, far_ranges_;  // below kLowest
};

}  // namespace foreshard
