// What allocations and pools take of a device: alone each its bytes, in a pool what that grows by.
#include "profiler/record/cupti/device_allocations.hpp"

#include <gtest/gtest.h>

namespace foreshard::profiler {
namespace {

constexpr std::uint64_t kPool = 0x100;

Activity operation(std::uint32_t detail, std::uint64_t address, std::int64_t bytes,
                   std::int64_t pool_bytes = -1) {
  Activity a;
  a.kind = ActivityKind::allocation;
  a.detail = detail;
  a.id = address;
  a.bytes = bytes;
  if (pool_bytes >= 0) {
    a.pool = kPool;
    a.pool_bytes = pool_bytes;
  }
  return a;
}
Activity pool(std::uint32_t detail, std::int64_t bytes) {
  Activity a = operation(detail, kPool, bytes);
  a.kind = ActivityKind::memory_pool;
  return a;
}

class DeviceAllocationsTest : public testing::Test {
 protected:
  // Bytes taken; 0: nothing changes.
  std::int64_t take(const Activity& activity) {
    const auto change = allocations_.take(activity);
    if (!change) return 0;
    is_of_pool_ = change->is_of_pool;
    EXPECT_EQ(change->address, is_of_pool_ ? kPool : activity.id);
    return change->bytes;
  }
  DeviceAllocations allocations_;
  bool is_of_pool_ = false;
};

TEST_F(DeviceAllocationsTest, TakeAndGiveBackTheirBytes) {
  EXPECT_EQ(take(operation(1, 64, 4096)), 4096);
  EXPECT_FALSE(is_of_pool_);
  EXPECT_EQ(take(operation(2, 64, 0)), -4096);  // not all records of releases have a size
  EXPECT_EQ(take(operation(2, 64, 4096)), 0);   // known no longer
  EXPECT_EQ(take(operation(1, 64, 512)), 512);
}

TEST_F(DeviceAllocationsTest, InAPoolCountByItsSize) {
  EXPECT_EQ(take(pool(1, 0)), 0);
  EXPECT_EQ(take(operation(1, 64, 4096, 1 << 21)), 1 << 21);
  EXPECT_TRUE(is_of_pool_);
  EXPECT_EQ(take(operation(1, 128, 4096, 1 << 21)), 0);  // has room in the pool
  EXPECT_EQ(take(operation(2, 64, 4096, 1 << 21)), 0);   // stays in the pool
  EXPECT_EQ(take(pool(3, 1 << 20)), -(1 << 20));
  EXPECT_EQ(take(operation(2, 128, 4096, 0)), -(1 << 20));
  EXPECT_EQ(take(operation(1, 64, 4096, 1 << 21)), 1 << 21);
  EXPECT_EQ(take(pool(2, 1 << 21)), -(1 << 21));  // destroyed
}

TEST_F(DeviceAllocationsTest, InAPoolOfUnknownSizeCountThemselves) {
  EXPECT_EQ(take(operation(1, 64, 4096, 0)), 4096);
  EXPECT_FALSE(is_of_pool_);
  EXPECT_EQ(take(operation(2, 64, 4096, 0)), -4096);
}

TEST_F(DeviceAllocationsTest, OfImpossibleSizesCountNothing) {
  EXPECT_EQ(take(operation(1, 64, -1)), 0);
  EXPECT_EQ(take(pool(3, -5)), 0);
}

}  // namespace
}  // namespace foreshard::profiler
