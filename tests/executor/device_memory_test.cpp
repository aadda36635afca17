// Pages come with segments and go with them; host buffers are counted.
#include "executor/device_memory.hpp"

#include <cstring>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace foreshard::executor {
namespace {

constexpr Bytes kTiB{std::int64_t{1} << 40};
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
  const Address lowest = Address{1} << 44;
  DeviceMemory memory(lowest, kTiB, [&] { ++synchronised; });
  const Address at = lowest + kTiB.count - kSegment.count;
  memory.commit(at, kSegment);
  EXPECT_EQ(memory.committed(), kSegment);
  EXPECT_EQ(resident_bytes(memory, at, kSegment), 0);
  std::memset(memory.pointer(at), 1, static_cast<std::size_t>(kSegment.count / 2));
  EXPECT_EQ(resident_bytes(memory, at, kSegment), kSegment.count / 2);
  EXPECT_EQ(synchronised, 0);
  memory.release(at, kSegment);
  EXPECT_EQ(synchronised, 1);
  EXPECT_EQ(resident_bytes(memory, at, kSegment), 0);
  EXPECT_EQ(memory.committed(), Bytes{0});
}

TEST(DeviceMemory, NeighboursAreOneRange) {
  DeviceMemory memory(0, kGiB, [] {});
  memory.commit(2 * kMiB.count, 2 * kMiB);
  memory.commit(0, 2 * kMiB);
  std::memset(memory.pointer(0), 7, static_cast<std::size_t>((4 * kMiB).count));
  memory.release(0, 2 * kMiB);
  EXPECT_EQ(memory.pointer(2 * kMiB.count)[0], std::byte{7});
  memory.commit(0, 2 * kMiB);
  EXPECT_EQ(memory.pointer(0)[0], std::byte{0});
}

TEST(DeviceMemoryDeathTest, ReleasedMemoryCannotBeUsed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  DeviceMemory memory(0, kGiB, [] {});
  memory.commit(0, 2 * kMiB);
  memory.release(0, 2 * kMiB);
  EXPECT_DEATH(*const_cast<volatile std::byte*>(memory.pointer(0)) = std::byte{1}, "");
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
  memory.reset_peak();
  EXPECT_EQ(memory.peak(), Bytes{128});
  memory.free(second, Bytes{65});
  EXPECT_EQ(memory.current(), Bytes{0});
}

}  // namespace
}  // namespace foreshard::executor
