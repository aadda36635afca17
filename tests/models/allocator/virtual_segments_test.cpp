// Addresses as a driver would give them, without memory behind them.
#include "models/allocator/virtual_segments.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>
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

// The same rule over a set of free granules.
class FreeGranules {
 public:
  explicit FreeGranules(std::size_t count) : is_free_(count, true), next_(count) {}

  std::optional<std::size_t> take(std::size_t count) {
    std::optional<std::size_t> begin;
    if (count <= next_) begin = next_ - count;
    for (std::size_t end = is_free_.size(); !begin && end >= count; --end) {
      const auto at = is_free_.begin() + static_cast<std::ptrdiff_t>(end - count);
      if (std::all_of(at, at + static_cast<std::ptrdiff_t>(count), [](bool free) { return free; }))
        begin = end - count;
    }
    if (!begin) return std::nullopt;
    set(*begin, count, false);
    next_ = std::min(next_, *begin);
    return begin;
  }
  void give_back(std::size_t begin, std::size_t count) { set(begin, count, true); }

 private:
  void set(std::size_t begin, std::size_t count, bool free) {
    std::fill_n(is_free_.begin() + static_cast<std::ptrdiff_t>(begin), count, free);
  }

  std::vector<bool> is_free_;
  std::size_t next_;
};

TEST(VirtualSegments, FollowTheirRuleThroughRandomCalls) {
  constexpr std::int64_t kGranule = 2 * kMi;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t count = 20 + random() % 60;
    DescendingAddresses addresses(static_cast<Address>(count) * kGranule, 0);
    FreeGranules twin(count);
    std::vector<std::pair<std::size_t, std::size_t>> taken;
    for (int call = 0; call < 300; ++call) {
      if (!taken.empty() && random() % 5 < 2) {
        const std::size_t which = random() % taken.size();
        const auto [begin, size] = taken[which];
        addresses.give_back(static_cast<Address>(begin) * kGranule);
        twin.give_back(begin, size);
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      const std::size_t size = 1 + random() % 8;
      const auto address = addresses.take(static_cast<std::int64_t>(size) * kGranule);
      const auto expected = twin.take(size);
      ASSERT_EQ(address.has_value(), expected.has_value()) << "seed " << seed << ", call " << call;
      if (!expected) continue;
      ASSERT_EQ(*address, static_cast<Address>(*expected) * kGranule) << "seed " << seed;
      taken.emplace_back(*expected, size);
    }
  }
}

// Refuses while told to, and remembers what lies where.
class Refuser final : public SegmentBacking {
 public:
  bool commit(Address address, std::int64_t bytes) override {
    if (!refuses) committed[address] = bytes;
    return !refuses;
  }
  void decommit(Address address, std::int64_t /*bytes*/) override { committed.erase(address); }
  bool begin_range(AddressRange range, std::int64_t) override {
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
