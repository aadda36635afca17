// Addresses as a driver would give them, without memory behind them.
#include "models/allocator/virtual_segments.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/models/allocator/allocator_device.hpp"

namespace foreshard {
namespace {

TEST(VirtualSegments, DescendAndAreReusedOnlyWhenUsedUp) {
  DescendingAddresses addresses(100 * kMi, 60 * kMi);
  const auto a = addresses.take(10 * kMi), b = addresses.take(10 * kMi);
  EXPECT_EQ(a, 90 * kMi);
  EXPECT_EQ(b, 80 * kMi);
  addresses.give_back(*a);
  EXPECT_EQ(addresses.take(20 * kMi), 60 * kMi);
  EXPECT_EQ(addresses.take(4 * kMi), 96 * kMi);
  EXPECT_EQ(addresses.take(8 * kMi), std::nullopt);
  EXPECT_EQ(addresses.take(6 * kMi), 90 * kMi);
}

TEST(VirtualSegments, GapsBelowTheLowestAddressAreUsedOnce) {
  DescendingAddresses addresses(100 * kMi, 60 * kMi);
  addresses.take(10 * kMi);
  addresses.give_back(*addresses.take(20 * kMi));     // [70, 90) is free again, 10 are left
  EXPECT_EQ(addresses.take(26 * kMi), 64 * kMi);      // reaches below what was ever taken
  EXPECT_EQ(addresses.take(10 * kMi), std::nullopt);  // 4 are left
  EXPECT_EQ(addresses.take(4 * kMi), 60 * kMi);
}

// Refuses while told to, and remembers what lies where.
class Refuser final : public SegmentBacking {
 public:
  bool commit(Address address, std::int64_t bytes) override {
    if (!refuses) committed[address] = bytes;
    return !refuses;
  }
  void decommit(Address address, std::int64_t /*bytes*/) override { committed.erase(address); }
  bool begin_range(AddressRange range) override {
    if (!refuses) ranges.push_back(range);
    return !refuses;
  }
  void end_range(AddressRange range) override { std::erase(ranges, range); }

  bool refuses = false;
  std::map<Address, std::int64_t> committed;
  std::vector<AddressRange> ranges;
};

TEST(VirtualSegments, ARefusalLeavesNoTrace) {
  Refuser driver;
  VirtualSegments refused(400 * kMi, &driver), plain(400 * kMi);
  const auto expect_refusals = [&] {
    driver.refuses = true;
    for (const std::int64_t bytes : {2 * kMi, 300 * kMi}) {
      EXPECT_EQ(refused.reserve(bytes, 0), std::nullopt);
      EXPECT_EQ(refused.reserve_range(2 * kMi, bytes, 0), std::nullopt);
    }
    driver.refuses = false;
  };
  expect_refusals();
  const auto first = refused.reserve(20 * kMi, 0);
  EXPECT_EQ(first, plain.reserve(20 * kMi, 0));
  expect_refusals();
  const auto range = refused.reserve_range(20 * kMi, 1, 0);
  EXPECT_EQ(range, plain.reserve_range(20 * kMi, 1, 0));
  EXPECT_TRUE(refused.map(range->address, 40 * kMi));
  driver.refuses = true;
  EXPECT_FALSE(refused.map(range->address + 40 * kMi, 20 * kMi));
  expect_refusals();
  EXPECT_EQ(refused.used(), 60 * kMi);
  EXPECT_EQ(driver.committed.size(), 2U);
  refused.unmap(range->address, 40 * kMi);
  refused.release_range(*range);
  refused.release(*first, 20 * kMi);
  EXPECT_EQ(refused.used(), 0);
  EXPECT_TRUE(driver.committed.empty());
  EXPECT_TRUE(driver.ranges.empty());
}

TEST(VirtualSegments, ServeDevicesLargerThanTheirSpan) {
  VirtualSegments memory;
  const std::int64_t tebibyte = std::int64_t{1} << 40;
  EXPECT_EQ(memory.reserve(tebibyte, 0), VirtualSegments::kTop - tebibyte);
  const auto far = memory.reserve(tebibyte, 0);
  ASSERT_TRUE(far);
  EXPECT_LT(*far + tebibyte, VirtualSegments::kLowest);
  memory.release(*far, tebibyte);
  EXPECT_EQ(memory.used(), tebibyte);
}

}  // namespace
}  // namespace foreshard
