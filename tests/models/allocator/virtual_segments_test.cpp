// Addresses as a driver would give them, without memory behind them.
#include "models/allocator/virtual_segments.hpp"

#include <gtest/gtest.h>

namespace foreshard {
namespace {

constexpr std::int64_t kMi = 1 << 20;
constexpr Address kTop = VirtualSegments::kTop;

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

TEST(VirtualSegments, ServeDevicesLargerThanTheirSpan) {
  VirtualSegments memory;
  const std::int64_t tebibyte = std::int64_t{1} << 40;
  EXPECT_EQ(memory.reserve(tebibyte, 0), kTop - tebibyte);
  const auto far = memory.reserve(tebibyte, 0);
  ASSERT_TRUE(far);
  EXPECT_LT(*far + tebibyte, VirtualSegments::kLowest);
  memory.release(*far, tebibyte);
  EXPECT_EQ(memory.used(), tebibyte);
}

}  // namespace
}  // namespace foreshard
