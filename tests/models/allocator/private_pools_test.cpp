// Private pools, worked by hand from the rules of PyTorch's caching allocator.
#include "tests/models/allocator/allocator_device.hpp"

namespace foreshard {
namespace {

TEST(PrivatePools, KeepsPrivatePoolsApartUntilTheyAreReleased) {
  Device device({}, 100 * kMi);
  device.allocator.add_private_pool({.first_stream = 1, .streams = 1});
  const Allocation a = device.take(4 * kMi);
  device.allocator.free(a.block);
  // The default pool's free 20 MiB do not serve the private one, nor the other way round.
  const Allocation b = device.take(4 * kMi, 1);
  device.allocator.free(b.block);
  EXPECT_NE(b.address, a.address);
  const Allocation c = device.take(4 * kMi);
  EXPECT_EQ(c.address, a.address);
  device.allocator.free(c.block);
  EXPECT_EQ(device.allocator.statistics().reserved, 40 * kMi);
  // While it is in use the pool's segments stay, and its requests have nothing released.
  EXPECT_FALSE(device.allocator.allocate(70 * kMi, 1));
  EXPECT_EQ(device.allocator.statistics().reserved, 40 * kMi);
  device.allocator.empty_cache();
  EXPECT_EQ(device.allocator.statistics().reserved, 20 * kMi);
  EXPECT_FALSE(device.allocator.allocate(90 * kMi, 0));
  device.allocator.release_pool(0);
  EXPECT_TRUE(device.allocator.allocate(90 * kMi, 0));
  EXPECT_EQ(device.allocator.statistics().reserved, 90 * kMi);
}

TEST(PrivatePools, EmptiesOnePrivatePoolAlone) {
  Device device;
  device.allocator.add_private_pool({.first_stream = 1, .streams = 2});
  device.allocator.add_private_pool({.first_stream = 3, .streams = 1});
  for (const int stream : {0, 1, 2, 3}) {
    device.allocator.free(device.take((20 + 2 * stream) * kMi, stream).block);
  }
  device.log.take();
  device.allocator.empty_pool(0);
  EXPECT_EQ(device.log.take(), (Lines{"release 22", "release 24"}));
}

TEST(PrivatePools, LetsAPrivatePoolReleaseTheCacheWhereItMay) {
  Device device({}, 100 * kMi);
  device.allocator.add_private_pool({.first_stream = 1, .streams = 1, .releases_cache = true});
  device.allocator.free(device.take(60 * kMi).block);
  EXPECT_TRUE(device.allocator.allocate(70 * kMi, 1));
}

TEST(PrivatePools, CollectsNoGarbageFromPrivatePools) {
  Device device({.garbage_collection_threshold = 0.5, .memory_fraction = 0.5}, 400 * kMi);
  device.allocator.add_private_pool({.first_stream = 1, .streams = 1});
  device.allocator.free(device.take(120 * kMi, 1).block);
  device.log.take();
  device.take(40 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"segment 40", "alloc 40"}));
}

TEST(PrivatePools, ExpandsNoPoolOfAnotherDriver) {
  Device device({.expandable_segments = true});
  device.allocator.add_private_pool({.first_stream = 1, .streams = 1, .expandable = false});
  device.allocator.add_private_pool({.first_stream = 2, .streams = 1});
  device.take(4 * kMi, 1);
  device.take(4 * kMi, 2);
  EXPECT_EQ(device.log.take(), (Lines{"segment 20", "alloc 4", "map 20", "alloc 4"}));
  // Blocks of ordinary segments keep up to 1 MiB of slack, those of expandable ones none.
  const Allocation rest = device.take(16 * kMi - 512 * 1024, 1);
  EXPECT_EQ(rest.bytes, 16 * kMi);
}

}  // namespace
}  // namespace foreshard
