#include "models/virtual_segments.hpp"

#include "models/units.hpp"

namespace foreshard {
namespace {

// Address space for an expandable segment of a device without a limit.
constexpr std::int64_t kUnlimitedRange = 1024 * kGiB.count;

}  // namespace

std::optional<Address> DescendingAddresses::take(std::int64_t bytes) {
  bytes = round_up(bytes, 2 * kMiB.count);
  std::optional<Address> address;
  if (bytes <= next_ - floor_) {
    next_ -= bytes;
    address = next_;
  } else {
    address = highest_gap(bytes);
  }
  if (address) taken_.emplace_hint(taken_.end(), *address, bytes);
  return address;
}

void DescendingAddresses::give_back(Address address) {
  taken_.erase(address);
}

std::optional<Address> DescendingAddresses::highest_gap(std::int64_t bytes) const {
  Address end = top_;
  for (const auto& [address, size] : taken_) {
    if (end - (address + size) >= bytes) return end - bytes;
    end = address;
  }
  if (end - floor_ >= bytes) return end - bytes;
  return std::nullopt;
}

VirtualSegments::VirtualSegments(std::int64_t capacity, SegmentBacking* backing)
    : capacity_(capacity), backing_(backing) {}

bool VirtualSegments::commit(Address address, std::int64_t bytes) {
  if (bytes > capacity_ - used_) return false;
  used_ += bytes;
  if (backing_) backing_->commit(address, bytes);
  return true;
}

void VirtualSegments::decommit(Address address, std::int64_t bytes) {
  used_ -= bytes;
  if (backing_) backing_->decommit(address, bytes);
}

std::optional<Address> VirtualSegments::reserve(std::int64_t bytes, int /*stream*/) {
  if (bytes > capacity_ - used_) return std::nullopt;
  const auto address = segments_.take(bytes);
  if (address) commit(*address, bytes);
  return address;
}

void VirtualSegments::release(Address address, std::int64_t bytes) {
  decommit(address, bytes);
  segments_.give_back(address);
}

std::optional<AddressRange> VirtualSegments::reserve_range(std::int64_t granule, int /*stream*/) {
  const std::int64_t device = capacity_ < kUnlimitedRange ? capacity_ : kUnlimitedRange;
  const std::int64_t bytes = round_up(device + device / 8, granule);
  const auto address = ranges_.take(bytes);
  if (!address) return std::nullopt;
  return AddressRange{*address, bytes};
}

void VirtualSegments::release_range(AddressRange range) {
  ranges_.give_back(range.address);
}

bool VirtualSegments::map(Address address, std::int64_t bytes) {
  return commit(address, bytes);
}

void VirtualSegments::unmap(Address address, std::int64_t bytes) {
  decommit(address, bytes);
}

}  // namespace foreshard
