// Pages come with segments and go with them; host buffers are counted.
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
constexpr Bytes kSegment = 20 * kMiB;

std::int64_t resident_bytes(const DeviceMemory& memory, Address address, Bytes bytes) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> resident(static_cast<std::size_t>(bytes.count / page));
  EXPECT_EQ(
      mincore(memory.pointer(address), static_cast<std::size_t>(bytes.count), resident.data()), 0);
  std::int64_t pages = 0;
  for (const unsigned char flags : resident) pages += flags & 1;
  return pages * page;
}

TEST(DeviceMemory, ResidentMemoryFollowsUse) {
  int synchronised = 0;
  DeviceMemory memory([&] { ++synchronised; });
  memory.commit(kTop, kSegment);
  EXPECT_EQ(memory.committed(), kSegment);
  EXPECT_EQ(resident_bytes(memory, kTop, kSegment), 0);
  std::memset(memory.pointer(kTop), 1, static_cast<std::size_t>(kSegment.count / 2));
  EXPECT_EQ(resident_bytes(memory, kTop, kSegment), kSegment.count / 2);
  EXPECT_EQ(synchronised, 0);
  memory.release(kTop, kSegment);
  EXPECT_EQ(synchronised, 1);
  EXPECT_EQ(memory.committed(), Bytes{0});
  EXPECT_THROW(memory.pointer(kTop), std::logic_error);
}

TEST(DeviceMemory, SegmentsAreApart) {
  DeviceMemory memory([] {});
  const Address below = kTop - kSegment.count;
  memory.commit(kTop, kSegment);
  memory.commit(below, kSegment);
  memory.pointer(kTop)[0] = std::byte{7};
  memory.pointer(below)[kSegment.count - 1] = std::byte{8};
  EXPECT_EQ(memory.pointer(kTop - 1)[0], std::byte{8});
  memory.release(below, kSegment);
  EXPECT_EQ(memory.pointer(kTop)[0], std::byte{7});
  EXPECT_THROW(memory.pointer(kTop - 1), std::logic_error);
}

TEST(DeviceMemory, RangesGrowInPlace) {
  DeviceMemory memory([] {});
  memory.reserve(kTop, 64 * kGiB);
  memory.commit(kTop, kSegment);
  std::byte* const first = memory.pointer(kTop);
  memory.commit(kTop + kSegment.count, kSegment);
  EXPECT_EQ(memory.pointer(kTop + kSegment.count), first + kSegment.count);
  std::memset(first, 7, static_cast<std::size_t>((2 * kSegment).count));
  memory.release(kTop, kSegment);
  EXPECT_EQ(resident_bytes(memory, kTop, 2 * kSegment), kSegment.count);
  EXPECT_EQ(first[kSegment.count], std::byte{7});
  memory.commit(kTop, kSegment);
  EXPECT_EQ(first[0], std::byte{0});
  memory.release(kTop, 2 * kSegment);
  memory.unreserve(kTop);
  EXPECT_THROW(memory.pointer(kTop), std::logic_error);
}

TEST(DeviceMemoryDeathTest, ReleasedMemoryCannotBeUsed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  DeviceMemory memory([] {});
  memory.reserve(kTop, kGiB);
  memory.commit(kTop, kSegment);
  auto* const first = const_cast<volatile std::byte*>(memory.pointer(kTop));
  memory.release(kTop, kSegment);
  EXPECT_DEATH(*first = std::byte{1}, "");
}

TEST(HostMemory, CountsRoundedBytes) {
  HostMemory memory;
  std::byte* first = memory.allocate(Bytes{1});
  std::byte* second = memory.allocate(Bytes{65});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 64, 0U);
  EXPECT_EQ(memory.current(), Bytes{192});
  memory.free(first, Bytes{1});
  EXPECT_EQ(memory.current(), Bytes{128});
  EXPECT_EQ(memory.peak(), Bytes{192});
  memory.free(second, Bytes{65});
  EXPECT_EQ(memory.current(), Bytes{0});
  EXPECT_EQ(memory.peak(), Bytes{192});
}

TEST(HostMemory, KeepsFreedBuffersForTheNextOfTheirSize) {
  HostMemory memory;
  std::byte* const first = memory.allocate(Bytes{1000});
  memory.free(first, Bytes{1000});
  EXPECT_EQ(memory.allocate(Bytes{1010}), first);  // both are 1,024
  memory.free(first, Bytes{1010});
  std::byte* const larger = memory.allocate(Bytes{4096});  // gives the other back
  memory.free(larger, Bytes{4096});
  EXPECT_EQ(memory.current(), Bytes{0});
}

}  // namespace
}  // namespace foreshard::executor
