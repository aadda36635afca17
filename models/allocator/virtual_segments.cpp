#include "models/allocator/virtual_segments.hpp"

#include <algorithm>

#include "models/base/units.hpp"

namespace foreshard {
namespace {

constexpr Address kRangesTop = VirtualSegments::kTop - (Address{1} << 40);
constexpr Address kFarSegmentsTop = 0x6f0000000000;
constexpr Address kFarRangesTop = 0x2f0000000000;

// What a device without a limit counts as where a range is reserved for it.
constexpr std::int64_t kUnlimitedDevice = 128 * kGiB.count;

// A device declared larger has ranges of this size: there are addresses for a range a stream.
constexpr std::int64_t kLargestDevice = 2048 * kGiB.count;

// Takes the next address of the first part that has one left, if memory comes to lie there.
template <typename Commit>
std::optional<Address> take(std::int64_t bytes, DescendingAddresses& near, DescendingAddresses& far,
                            const Commit& commit) {
  for (DescendingAddresses* part : {&near, &far}) {
    const auto address = part->next(bytes);
    if (!address) continue;
    if (!commit(*address)) return std::nullopt;
    part->take(*address, bytes);
    return address;
  }
  return std::nullopt;
}

void give_back(Address address, DescendingAddresses& near, DescendingAddresses& far) {
  (address >= VirtualSegments::kLowest ? near : far).give_back(address);
}

constexpr std::int64_t rounded(std::int64_t bytes) {
  return round_up(bytes, 2 * kMiB.count);
}

}  // namespace

std::optional<Address> DescendingAddresses::take(std::int64_t bytes) {
  const auto address = next(bytes);
  if (address) take(*address, bytes);
  return address;
}

std::optional<Address> DescendingAddresses::next(std::int64_t bytes) {
  const std::int64_t size = rounded(bytes);
  return size <= next_ - floor_ ? next_ - size : highest_gap(size);
}

void DescendingAddresses::take(Address next, std::int64_t bytes) {
  const bool is_lowest = next < next_;
  taken_.insert(is_lowest ? taken_.end() : find(next), {next, rounded(bytes)});
  if (is_lowest) next_ = next;
}

void DescendingAddresses::give_back(Address address) {
  const auto taken = find(address);
  if (taken == taken_.end() || taken->address != address || taken->bytes == 0) return;
  taken->bytes = 0;
  too_large_ = kNoBound;
  if (++given_back_ > taken_.size() / 2) drop_given_back();
}

std::vector<AddressRange>::iterator DescendingAddresses::find(Address address) {
  return std::partition_point(taken_.begin(), taken_.end(), [address](const AddressRange& taken) {
    return taken.address > address;
  });
}

void DescendingAddresses::drop_given_back() {
  std::erase_if(taken_, [](const AddressRange& taken) { return taken.bytes == 0; });
  given_back_ = 0;
}

std::optional<Address> DescendingAddresses::highest_gap(std::int64_t bytes) {
  if (bytes >= too_large_) return std::nullopt;
  drop_given_back();
  Address end = top_;
  for (const auto& [address, size] : taken_) {
    if (end - (address + size) >= bytes) return end - bytes;
    end = address;
  }
  if (end - floor_ >= bytes) return end - bytes;
  too_large_ = bytes;
  return std::nullopt;
}

VirtualSegments::VirtualSegments(std::int64_t capacity, SegmentBacking* backing)
    : capacity_(capacity),
      backing_(backing),
      segments_(kTop, kRangesTop),
      ranges_(kRangesTop, kLowest),
      far_segments_(kFarSegmentsTop, kFarRangesTop),
      far_ranges_(kFarRangesTop, 0) {}

bool VirtualSegments::commit(Address address, std::int64_t bytes) {
  if (bytes > capacity_ - used_) return false;
  if (backing_ && !backing_->commit(address, bytes)) return false;
  used_ += bytes;
  return true;
}

void VirtualSegments::decommit(Address address, std::int64_t bytes) {
  used_ -= bytes;
  if (backing_) backing_->decommit(address, bytes);
}

std::optional<Address> VirtualSegments::reserve(std::int64_t bytes, int /*stream*/) {
  return take(bytes, segments_, far_segments_,
              [&](Address address) { return commit(address, bytes); });
}

void VirtualSegments::release(Address address, std::int64_t bytes) {
  decommit(address, bytes);
  give_back(address, segments_, far_segments_);
}

std::optional<AddressRange> VirtualSegments::reserve_range(std::int64_t granule,
                                                           std::int64_t at_least, int /*stream*/) {
  const std::int64_t device =
      capacity_ == kUnlimited ? kUnlimitedDevice : std::min(capacity_, kLargestDevice);
  const std::int64_t bytes = round_up(std::max(device + device / 8, at_least), granule);
  const auto address = take(bytes, ranges_, far_ranges_, [&](Address at) {
    return backing_ == nullptr || backing_->begin_range({at, bytes}, granule);
  });
  if (!address) return std::nullopt;
  return AddressRange{*address, bytes};
}

void VirtualSegments::release_range(AddressRange range) {
  if (backing_) backing_->end_range(range);
  give_back(range.address, ranges_, far_ranges_);
}

bool VirtualSegments::map(Address address, std::int64_t bytes) {
  return commit(address, bytes);
}

void VirtualSegments::unmap(Address address, std::int64_t bytes) {
  decommit(address, bytes);
}

}  // namespace foreshard
