// Pages come with segments and go with them; host buffers are counted.
#include "executor/device_memory.hpp"

#include <cstring>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace foreshard::executor {
namespace {

constexpr Bytes kTiB{std::int64_t{1} << 40};
constexpr Bytes kSegment = 20 * kMiB;

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(DeviceMemory, ResidentMemoryFollowsUse) {
  int synchronised = 0;
  const Address lowest = Address{1} << 44;
  DeviceMemory memory(lowest, kTiB, [&] { ++synchronised; });
  const Address at = lowest + kTiB.count - kSegment.count;
  const std::int64_t before = resident_bytes();
  memory.commit(at, kSegment);
  EXPECT_EQ(memory.committed(), kSegment);
  EXPECT_LT(resident_bytes() - before, kMiB.count);
  std::memset(memory.pointer(at), 1, static_cast<std::size_t>(kSegment.count / 2));
  EXPECT_NEAR(static_cast<double>(resident_bytes() - before),
              static_cast<double>(kSegment.count / 2), static_cast<double>(kMiB.count));
  EXPECT_EQ(synchronised, 0);
  memory.release(at, kSegment);
  EXPECT_EQ(synchronised, 1);
  EXPECT_LT(resident_bytes() - before, kMiB.count);
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
