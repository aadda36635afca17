// Cases worked by hand from the rules of PyTorch's caching allocator. MiB throughout.
#include "models/allocator/caching_allocator.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/models/allocator/allocator_device.hpp"

namespace foreshard {
namespace {

TEST(CachingAllocator, GivesNoBlockForNothing) {
  Device device;
  const Allocation a = device.take(0);
  EXPECT_EQ(a.block, kNoBlock);
  device.allocator.free(a.block);
  device.allocator.record_stream(a.block, 1);
  EXPECT_EQ(device.allocator.statistics(), AllocatorStatistics{});
  EXPECT_TRUE(device.log.lines.empty());
}

TEST(CachingAllocator, CutsSmallBlocksFromOneSegment) {
  Device device;
  const Allocation a = device.take(100), b = device.take(513), c = device.take(512);
  // One segment of 2 MiB, cut from the front: 512, 1024, 512.
  EXPECT_EQ(a.address, VirtualSegments::kTop - 2 * kMi);
  EXPECT_EQ(b.address, a.address + 512);
  EXPECT_EQ(c.address, b.address + 1024);
  EXPECT_EQ(b.bytes, 1024);
  EXPECT_EQ(device.allocator.statistics().allocated, 2048);
  EXPECT_EQ(device.allocator.statistics().reserved, 2 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"segment 2", "alloc 512 B", "alloc 1024 B", "alloc 512 B"}));

  // b's place of 1024 is the smallest that holds 600.
  device.allocator.free(b.block);
  EXPECT_EQ(device.take(600).address, b.address);
}

TEST(CachingAllocator, MergesFreeNeighbours) {
  Device device;
  const Allocation a = device.take(512), b = device.take(512), c = device.take(512);
  device.allocator.free(a.block);
  device.allocator.free(c.block);  // merges with the rest of the segment
  ASSERT_EQ(device.allocator.segments().size(), 1U);
  EXPECT_EQ(device.allocator.segments()[0].blocks.size(), 3U);
  device.allocator.free(b.block);  // merges on both sides
  const auto segments = device.allocator.segments();
  ASSERT_EQ(segments[0].blocks.size(), 1U);
  EXPECT_EQ(segments[0].blocks[0].bytes, 2 * kMi);
  EXPECT_EQ(device.allocator.statistics().allocated, 0);
  EXPECT_EQ(device.allocator.statistics().active, 0);
  EXPECT_EQ(device.allocator.statistics().peak_allocated, 1536);
}

TEST(CachingAllocator, CountsSlackOfUpToOneMebibyteAsAllocated) {
  Device device;
  // 11 MiB need a segment of 12; the MiB behind is not more than 1 MiB and stays in the block.
  EXPECT_EQ(device.take(11 * kMi).bytes, 12 * kMi);
  EXPECT_EQ(device.allocator.statistics().allocated, 12 * kMi);
  // 512 bytes less leave more than 1 MiB, which is cut off.
  EXPECT_EQ(device.take(11 * kMi - 512).bytes, 11 * kMi - 512);
  EXPECT_EQ(device.allocator.statistics().allocated, 23 * kMi - 512);
}

TEST(CachingAllocator, TakesTheLowestOfEqualBlocks) {
  Device device;
  const Allocation high = device.take(16 * kMi), low = device.take(16 * kMi);
  EXPECT_EQ(low.address, high.address - 16 * kMi);
  device.allocator.free(low.block);
  device.allocator.free(high.block);
  EXPECT_EQ(device.take(16 * kMi).address, low.address);
  EXPECT_EQ(device.take(16 * kMi).address, high.address);
}

TEST(CachingAllocator, NeverSharesBlocksBetweenStreams) {
  Device device;
  const Allocation a = device.take(16 * kMi, 0);
  device.allocator.free(a.block);
  EXPECT_NE(device.take(16 * kMi, 3).address, a.address);
  EXPECT_EQ(device.take(16 * kMi, 0).address, a.address);
}

TEST(CachingAllocator, ReleasesTheCacheBeforeItFails) {
  Device device({}, 100 * kMi);
  const Allocation small = device.take(512), a = device.take(40 * kMi), b = device.take(30 * kMi);
  device.allocator.free(a.block);
  device.allocator.free(b.block);
  device.log.take();
  // 2 + 40 + 30 are reserved: 50 more only fit once both are given back, the smaller first.
  const Allocation c = device.take(50 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"release 30", "release 40", "segment 50", "alloc 50"}));
  EXPECT_EQ(device.allocator.statistics().retries, 1);

  // The small segment is in use. Nothing can be released for another 50.
  const auto failed = device.allocator.allocate(50 * kMi - 1, 0);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().requested, 50 * kMi - 1);
  EXPECT_EQ(failed.error().allocated, 50 * kMi + 512);
  EXPECT_EQ(failed.error().reserved, 52 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"oom 52428799 B"}));
  EXPECT_EQ(device.allocator.statistics().out_of_memory, 1);

  device.allocator.free(c.block);
  device.allocator.free(small.block);
  device.allocator.empty_cache();  // the large pool first
  EXPECT_EQ(device.log.take(), (Lines{"request 50", "complete 50", "request 512 B",
                                      "complete 512 B", "release 50", "release 2"}));
  EXPECT_EQ(device.allocator.statistics().reserved, 0);
  EXPECT_EQ(device.memory.used(), 0);
}

// A driver that has less than was declared: what is cached goes back and the request is repeated.
TEST(CachingAllocator, ReleasesTheCacheWhenTheDriverRefuses) {
  class SmallDriver final : public SegmentBacking {
   public:
    bool commit(Address, std::int64_t bytes) override {
      if (bytes > left) return false;
      left -= bytes;
      return true;
    }
    void decommit(Address, std::int64_t bytes) override { left += bytes; }
    bool begin_range(AddressRange, std::int64_t) override { return true; }
    void end_range(AddressRange) override {}

    std::int64_t left = 60 * kMi;
  };
  for (const bool expandable : {false, true}) {
    SmallDriver driver;
    VirtualSegments memory(100 * kMi, &driver);
    CachingAllocator allocator(AllocatorSettings{.expandable_segments = expandable}, std::nullopt,
                               memory);
    const auto a = allocator.allocate(40 * kMi, 0);
    ASSERT_TRUE(a);
    allocator.free(a->block);
    const auto b = allocator.allocate(50 * kMi, 1);  // which stream 0's cache cannot serve
    ASSERT_TRUE(b);
    EXPECT_EQ(allocator.statistics().retries, 1);
    const auto c = allocator.allocate(30 * kMi, 2);
    ASSERT_FALSE(c);
    EXPECT_EQ(c.error().requested, 30 * kMi);
    EXPECT_EQ(c.error().allocated, 50 * kMi);
    EXPECT_EQ(c.error().reserved, expandable ? 60 * kMi : 50 * kMi);  // whole granules of 20
    EXPECT_EQ(memory.used(), c.error().reserved);
  }
}

TEST(CachingAllocator, FailsAbsurdRequests) {
  Device device;
  const auto failed = device.allocator.allocate(std::int64_t{1} << 62, 0);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().requested, std::int64_t{1} << 62);
}

TEST(CachingAllocator, KeepsSplitSegmentsWhenTheCacheIsEmptied) {
  Device device;
  const Allocation a = device.take(8 * kMi), b = device.take(8 * kMi);
  device.allocator.free(a.block);
  device.allocator.empty_cache();
  EXPECT_EQ(device.allocator.statistics().reserved, 20 * kMi);
  device.allocator.free(b.block);
  device.allocator.empty_cache();
  EXPECT_EQ(device.allocator.statistics().reserved, 0);
}

TEST(CachingAllocator, KeepsBlocksAboveMaxSplitSizeWhole) {
  Device device({.max_split_size_mb = 64}, 400 * kMi);
  const Allocation big = device.take(100 * kMi);
  device.allocator.free(big.block);
  // 30 MiB may not take the 100 MiB block; it would have been split.
  const Allocation other = device.take(30 * kMi);
  EXPECT_EQ(other.address, big.address - 30 * kMi);
  // 80 MiB are 20 MiB short of the block: too much slack. 81 MiB are not.
  EXPECT_EQ(device.take(80 * kMi).bytes, 80 * kMi);
  const Allocation again = device.take(81 * kMi);
  EXPECT_EQ(again.address, big.address);
  EXPECT_EQ(again.bytes, 100 * kMi);
}

TEST(CachingAllocator, GivesBackOversizeBlocksOneByOne) {
  Device device({.max_split_size_mb = 64}, 400 * kMi);
  const Allocation a = device.take(70 * kMi), b = device.take(90 * kMi), c = device.take(150 * kMi);
  const Allocation small = device.take(512);
  for (const Allocation& each : {a, b, c, small}) device.allocator.free(each.block);
  device.log.take();
  // 312 of 400 are reserved. For 110: the one cached block that would hold it goes, though too
  // large to be used; the others stay.
  const Allocation d = device.take(110 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"release 150", "segment 110", "alloc 110"}));
  EXPECT_EQ(device.allocator.statistics().retries, 0);
  // 272 are reserved. For 160 none is large enough: the largest go first, 90 and then 70.
  const Allocation e = device.take(160 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"release 90", "release 70", "segment 160", "alloc 160"}));
  EXPECT_EQ(device.allocator.statistics().retries, 0);
  device.allocator.free(d.block);
  device.allocator.free(e.block);
}

TEST(CachingAllocator, CollectsOldBlocksAboveTheThreshold) {
  // Garbage is collected when more than half of 200 MiB is reserved.
  Device device({.garbage_collection_threshold = 0.5, .memory_fraction = 0.5}, 400 * kMi);
  const Allocation a = device.take(40 * kMi), b = device.take(42 * kMi), c = device.take(44 * kMi);
  device.allocator.free(a.block);                     // after 3 lookups
  device.allocator.free(device.take(2 * kMi).block);  // 4th lookup: cut from a, merged again at 4
  device.allocator.free(b.block);
  device.log.take();
  // 126 MiB are reserved at the 5th lookup. Free and unsplit: a and b with age 1 each; the
  // average is 1, so both go although 26 MiB would have been enough.
  device.take(60 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"release 40", "release 42", "segment 60", "alloc 60"}));
  device.allocator.free(c.block);
}

// CUDACachingAllocator::malloc collects where set_per_process_memory_fraction set a limit, which 1 is not.
TEST(CachingAllocator, CollectsNothingWithoutAMemoryFraction) {
  Device device({.garbage_collection_threshold = 0.5}, 200 * kMi);
  const Allocation a = device.take(40 * kMi), b = device.take(42 * kMi), c = device.take(44 * kMi);
  for (const Allocation& block : {a, b, c}) device.allocator.free(block.block);
  device.log.take();
  device.take(60 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"segment 60", "alloc 60"}));
}

TEST(CachingAllocator, ReservesNoMoreThanItsMemoryFraction) {
  Device device({.memory_fraction = 0.5}, 200 * kMi);
  const Allocation a = device.take(60 * kMi);
  EXPECT_FALSE(device.allocator.allocate(50 * kMi, 0));
  device.allocator.free(a.block);
  EXPECT_TRUE(device.allocator.allocate(100 * kMi, 0));
}

TEST(CachingAllocator, CollectsTheOlderHalfFirst) {
  Device device({.garbage_collection_threshold = 0.5, .memory_fraction = 0.5}, 400 * kMi);
  const Allocation a = device.take(40 * kMi), b = device.take(42 * kMi);
  device.allocator.free(a.block);  // after 2 lookups
  device.take(44 * kMi);
  device.allocator.free(b.block);  // after 3
  device.log.take();
  // 126 reserved, 4th lookup: ages 2 and 1, average 1.5. Only a goes; 40 reclaim the excess of 26.
  device.take(60 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"release 40", "segment 60", "alloc 60"}));
}

TEST(CachingAllocator, ExpandsSegments) {
  Device device({.expandable_segments = true}, 160 * kMi);
  // Granules of 20 MiB: 30 are mapped as 40, and 10 stay free.
  const Allocation a = device.take(30 * kMi);
  const Address base = a.address;
  EXPECT_EQ(device.log.take(), (Lines{"map 40", "alloc 30"}));
  // 25 less the free 10 in front are 15: one granule.
  const Allocation b = device.take(25 * kMi);
  EXPECT_EQ(b.address, base + 30 * kMi);
  EXPECT_EQ(device.log.take(), (Lines{"map 20", "alloc 25"}));
  EXPECT_EQ(device.allocator.statistics().reserved, 60 * kMi);

  // Of a's 30 MiB only the first granule is whole; of the free 5 at the end none is.
  device.allocator.free(a.block);
  device.allocator.empty_cache();
  EXPECT_EQ(device.log.take(), (Lines{"request 30", "complete 30", "unmap 20"}));
  EXPECT_EQ(device.allocator.statistics().reserved, 40 * kMi);

  // Free are 10 and 5: for 12 the unmapped granule at the start comes back, joined with the 10.
  const Allocation c = device.take(12 * kMi);
  EXPECT_EQ(c.address, base);
  EXPECT_EQ(device.log.take(), (Lines{"map 20", "alloc 12"}));

  // Small requests have a range and granules of their own.
  const Allocation d = device.take(1000);
  EXPECT_EQ(device.log.take(), (Lines{"map 2", "alloc 1024 B"}));
  for (const Allocation& each : {b, c, d}) device.allocator.free(each.block);
  device.allocator.empty_cache();
  EXPECT_EQ(device.allocator.statistics().reserved, 0);
  EXPECT_TRUE(device.allocator.segments().empty());
  EXPECT_EQ(device.memory.used(), 0);
}

TEST(CachingAllocator, PrefersWhatGrowsLeast) {
  Device device({.expandable_segments = true}, 160 * kMi);
  const Allocation a = device.take(15 * kMi), b = device.take(35 * kMi);  // 20 + 40 mapped
  const Allocation c = device.take(2 * kMi);
  device.allocator.free(a.block);
  // Free: 15 at the front and 8 at the end, where 120 more can be mapped. For 7 the 8 would be the
  // best fit by size, but it counts as 128: the 15 is taken.
  EXPECT_EQ(device.take(7 * kMi).address, a.address);
  device.allocator.free(b.block);
  device.allocator.free(c.block);
}

TEST(CachingAllocator, FailsWhenNothingMoreCanBeMapped) {
  Device device({.expandable_segments = true}, 100 * kMi);
  const Allocation a = device.take(70 * kMi);  // 80 mapped
  const auto failed = device.allocator.allocate(40 * kMi, 0);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reserved, 80 * kMi);
  device.allocator.free(a.block);
  EXPECT_EQ(device.take(100 * kMi).address, a.address);  // grows by one granule
}

TEST(CachingAllocator, ExpandsSegmentsOfADeviceLargerThanAnyAddressSpace) {
  Device device({.expandable_segments = true}, std::int64_t{1} << 50);
  for (int stream = 0; stream < 8; ++stream) {  // a range for small and one for large requests each
    EXPECT_EQ(device.take(1000, stream).bytes, 1024);
    EXPECT_EQ(device.take(3 * kMi, stream).bytes, 3 * kMi);
  }
  EXPECT_EQ(device.allocator.statistics().reserved, 8 * 22 * kMi);
}

// Events that are done once the test completes them.
class ManualEvents final : public StreamEvents {
 public:
  std::int64_t record(int stream) override {
    streams.push_back(stream);
    return static_cast<std::int64_t>(streams.size()) - 1;
  }
  bool is_done(std::int64_t event) override { return event < done; }
  void wait(std::int64_t event) override { waited.push_back(event); }

  std::vector<int> streams;
  std::int64_t done = 0;
  std::vector<std::int64_t> waited;
};

TEST(CachingAllocator, DefersFreesOfBlocksUsedOnOtherStreams) {
  Device device;
  ManualEvents events;
  device.allocator.set_stream_events(&events);
  const Allocation a = device.take(16 * kMi, 0);
  device.allocator.record_stream(a.block, 0);  // its own stream: nothing
  device.allocator.record_stream(a.block, 1);
  device.allocator.record_stream(a.block, 1);
  device.allocator.record_stream(a.block, 2);
  device.allocator.free(a.block);
  EXPECT_EQ(events.streams, (std::vector<int>{1, 2}));
  EXPECT_EQ(device.allocator.statistics().allocated, 0);
  EXPECT_EQ(device.allocator.statistics().active, 16 * kMi);

  events.done = 1;  // stream 1 has passed, stream 2 has not
  const Allocation b = device.take(16 * kMi, 0);
  EXPECT_NE(b.address, a.address);
  events.done = 2;
  EXPECT_EQ(device.take(16 * kMi, 0).address, a.address);
  EXPECT_EQ(device.allocator.statistics().active, 32 * kMi);
  EXPECT_EQ(device.allocator.statistics().peak_active, 32 * kMi);
  EXPECT_TRUE(events.waited.empty());
}

TEST(CachingAllocator, WaitsForDeferredFreesBeforeItFails) {
  Device device({}, 30 * kMi);
  ManualEvents events;
  device.allocator.set_stream_events(&events);
  const Allocation a = device.take(16 * kMi, 0);
  device.allocator.record_stream(a.block, 1);
  device.allocator.free(a.block);
  device.log.take();
  device.take(20 * kMi, 0);
  EXPECT_EQ(events.waited, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(device.log.take(), (Lines{"complete 16", "release 16", "segment 20", "alloc 20"}));
}

TEST(CachingAllocator, LetsTheCallerCompleteAFree) {
  Device device;
  const Allocation a = device.take(16 * kMi), b = device.take(16 * kMi);
  device.allocator.request_free(a.block);
  device.allocator.request_free(b.block);
  EXPECT_EQ(device.allocator.statistics().allocated, 0);
  EXPECT_EQ(device.allocator.statistics().active, 32 * kMi);
  device.allocator.complete_free(b.block);
  EXPECT_EQ(device.take(16 * kMi).address, b.address);
  device.allocator.complete_free(a.block);
  EXPECT_EQ(device.take(16 * kMi).address, a.address);
}

TEST(CachingAllocator, ResetsPeaksToWhatIsThere) {
  Device device;
  const Allocation a = device.take(16 * kMi), b = device.take(32 * kMi);
  device.allocator.free(b.block);
  device.allocator.reset_peaks();
  EXPECT_EQ(device.allocator.statistics().peak_allocated, 16 * kMi);
  EXPECT_EQ(device.allocator.statistics().peak_reserved, 48 * kMi);
  device.allocator.free(a.block);
  EXPECT_EQ(device.allocator.statistics().peak_active, 16 * kMi);
}

TEST(CachingAllocator, TakesOverItsOwnState) {
  for (const bool expandable : {false, true}) {
    const AllocatorSettings settings{.expandable_segments = expandable};
    Device first(settings);
    const Allocation a = first.take(30 * kMi), b = first.take(700), c = first.take(9 * kMi, 2);
    first.allocator.free(a.block);
    first.allocator.request_free(c.block);
    const auto state = first.allocator.segments();

    Device second(settings);
    const auto ids = second.allocator.load(state);
    ASSERT_TRUE(ids) << ids.error().text();
    EXPECT_EQ(second.allocator.statistics().reserved, first.allocator.statistics().reserved);
    EXPECT_EQ(second.allocator.statistics().allocated, first.allocator.statistics().allocated);
    EXPECT_EQ(second.allocator.statistics().active, first.allocator.statistics().active);
    EXPECT_EQ(second.allocator.segments().size(), state.size());
    EXPECT_EQ(first.take(20 * kMi).address, second.take(20 * kMi).address);
    EXPECT_EQ(first.take(1 * kMi).address, second.take(1 * kMi).address);
    first.allocator.free(b.block);
    for (const BlockId id : *ids) {
      if (id != kNoBlock && second.allocator.address(id) == b.address) second.allocator.free(id);
    }
    EXPECT_EQ(first.take(700).address, second.take(700).address);
  }
}

}  // namespace
}  // namespace foreshard
