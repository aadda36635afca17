// Pages come with segments and go with them.
#include "executor/device/device_memory.hpp"

#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace foreshard::executor {
namespace {

constexpr Address kTop = Address{1} << 44;
constexpr std::int64_t kSegment = 20 << 20;

std::int64_t resident_bytes(const DeviceMemory& memory, Address address, std::int64_t bytes) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> resident(static_cast<std::size_t>(bytes / page));
  EXPECT_EQ(mincore(memory.pointer(address), static_cast<std::size_t>(bytes), resident.data()), 0);
  std::int64_t pages = 0;
  for (const unsigned char flags : resident) pages += flags & 1;
  return pages * page;
}

TEST(DeviceMemory, ResidentMemoryFollowsUse) {
  int synchronised = 0;
  DeviceMemory memory([&] { ++synchronised; });
  ASSERT_TRUE(memory.commit(kTop, kSegment));
  EXPECT_EQ(memory.committed(), Bytes{kSegment});
  EXPECT_EQ(resident_bytes(memory, kTop, kSegment), 0);
  std::memset(memory.pointer(kTop), 1, static_cast<std::size_t>(kSegment / 2));
  EXPECT_EQ(resident_bytes(memory, kTop, kSegment), kSegment / 2);
  EXPECT_EQ(synchronised, 0);
  memory.decommit(kTop, kSegment);
  EXPECT_EQ(synchronised, 1);
  EXPECT_EQ(memory.committed(), Bytes{0});
  EXPECT_THROW(memory.pointer(kTop), std::logic_error);
}

TEST(DeviceMemory, SegmentsAreApart) {
  DeviceMemory memory([] {});
  const Address below = kTop - kSegment;
  ASSERT_TRUE(memory.commit(kTop, kSegment));
  ASSERT_TRUE(memory.commit(below, kSegment));
  memory.pointer(kTop)[0] = std::byte{7};
  memory.pointer(below)[kSegment - 1] = std::byte{8};
  EXPECT_EQ(memory.pointer(kTop - 1)[0], std::byte{8});
  memory.decommit(below, kSegment);
  EXPECT_EQ(memory.pointer(kTop)[0], std::byte{7});
  EXPECT_THROW(memory.pointer(kTop - 1), std::logic_error);
}

TEST(DeviceMemory, RangesGrowInPlace) {
  DeviceMemory memory([] {});
  ASSERT_TRUE(memory.begin_range({kTop, (64 * kGiB).count}, kSegment));
  ASSERT_TRUE(memory.commit(kTop, kSegment));
  std::byte* const first = memory.pointer(kTop);
  ASSERT_TRUE(memory.commit(kTop + kSegment, kSegment));
  EXPECT_EQ(memory.pointer(kTop + kSegment), first + kSegment);
  std::memset(first, 7, static_cast<std::size_t>(2 * kSegment));
  memory.decommit(kTop, kSegment);
  EXPECT_EQ(resident_bytes(memory, kTop, 2 * kSegment), kSegment);
  EXPECT_EQ(first[kSegment], std::byte{7});
  ASSERT_TRUE(memory.commit(kTop, kSegment));
  EXPECT_EQ(first[0], std::byte{0});
  memory.decommit(kTop, 2 * kSegment);
  memory.end_range({kTop, (64 * kGiB).count});
  EXPECT_THROW(memory.pointer(kTop), std::logic_error);
}

// As cudaMalloc refuses; the caching allocator goes on from there.
TEST(DeviceMemory, WithoutRoomItRefusesAndChangesNothing) {
  DeviceMemory memory([] {});
  constexpr std::int64_t kMoreThanThereIs = std::int64_t{1} << 60;
  EXPECT_FALSE(memory.commit(kTop, kMoreThanThereIs));
  EXPECT_FALSE(memory.begin_range({kTop, kMoreThanThereIs}, kSegment));
  EXPECT_EQ(memory.committed(), Bytes{0});
  EXPECT_THROW(memory.pointer(kTop), std::logic_error);
  ASSERT_TRUE(memory.commit(kTop, kSegment));
  memory.pointer(kTop)[0] = std::byte{7};
}

TEST(DeviceMemoryDeathTest, ReleasedMemoryCannotBeUsed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  DeviceMemory memory([] {});
  ASSERT_TRUE(memory.begin_range({kTop, kGiB.count}, kSegment));
  ASSERT_TRUE(memory.commit(kTop, kSegment));
  auto* const first = const_cast<volatile std::byte*>(memory.pointer(kTop));
  memory.decommit(kTop, kSegment);
  EXPECT_DEATH(*first = std::byte{1}, "");
}

}  // namespace
}  // namespace foreshard::executor
