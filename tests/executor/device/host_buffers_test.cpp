// Host buffers are counted, and kept for the next of their size.
#include "executor/device/host_buffers.hpp"

#include <gtest/gtest.h>

#include "executor/cpu/cpu_device.hpp"

namespace foreshard::executor {
namespace {

TEST(HostBuffers, CountsRoundedBytes) {
  RunControl run(1);
  CpuDevice device(run, 0, fsdp2_streams());
  HostBuffers memory(device);
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

TEST(HostBuffers, KeepsFreedBuffersForTheNextOfTheirSize) {
  RunControl run(1);
  CpuDevice device(run, 0, fsdp2_streams());
  HostBuffers memory(device);
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
