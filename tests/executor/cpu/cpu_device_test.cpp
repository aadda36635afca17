// The CPU device as the interpreter sees it: order of streams, operands at the moment of issue, memory.
#include "executor/cpu/cpu_device.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

constexpr CostKey key_of(Operator op) {
  return {op, DType::fp32, DType::fp32, DType::fp32, {1}};
}

class CpuDeviceTest : public testing::Test {
 protected:
  CpuDeviceTest() { program_.events = 3; }

  RunControl run_{1};
  Program program_;
};

// What a launch was given may change as soon as it has been issued.
TEST_F(CpuDeviceTest, LaunchesKeepWhatTheyWereIssuedWith) {
  static std::vector<std::pair<const std::byte*, double>> seen;
  seen.clear();
  KernelTable table;
  table.set(Operator::add, [](const KernelArguments& arguments) {
    seen.emplace_back(arguments.reads[0].data(), arguments.scalars.lr);
  });
  CpuDevice device(run_, 0, fsdp2_streams(), 1, table);
  Event gate;
  device.call(Stream::compute, kNoTag, [this, &gate] { gate.wait(run_, 1); });
  std::array<std::byte, 10> memory{};
  std::vector<std::span<const std::byte>> reads(1);
  KernelScalars scalars;
  const CostKey key = key_of(Operator::add);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    reads[0] = std::span<const std::byte>(memory).subspan(i, 1);
    scalars.lr = static_cast<double>(i);
    device.launch(Stream::compute, i, {key, reads, {}, 0, nullptr, scalars});
  }
  gate.fire(1);
  device.synchronize();
  ASSERT_EQ(seen.size(), memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    EXPECT_EQ(seen[i].first, &memory[i]);
    EXPECT_EQ(seen[i].second, static_cast<double>(i));
  }
  EXPECT_EQ(device.progress().retired, memory.size());
  EXPECT_EQ(device.progress().last_instruction, memory.size() - 1);
}

TEST_F(CpuDeviceTest, SmallWorkIsTheStreamsOwnThreads) {
  static std::vector<int> threads;
  threads.clear();
  KernelTable table;
  for (const Operator op : {Operator::add, Operator::matmul}) {
    table.set(op, [](const KernelArguments& arguments) {
      threads.push_back(arguments.workers.threads());
    });
  }
  CpuDevice device(run_, 0, fsdp2_streams(), 3, table);
  const auto launch = [&](Operator op, const CostDims& dims) {
    const CostKey key{op, DType::fp32, DType::fp32, DType::fp32, dims};
    device.launch(Stream::compute, 0, {key, {}, {}});
  };
  launch(Operator::add, {1000});
  launch(Operator::add, {1'000'000});
  launch(Operator::matmul, {64, 64, 64, 0});
  launch(Operator::matmul, {512, 512, 512, 0});
  device.synchronize();
  EXPECT_EQ(threads, (std::vector{1, 3, 1, 3}));
}

TEST_F(CpuDeviceTest, RefusesWhatNoKernelComputesWhenItIsIssued) {
  const KernelTable no_kernels;
  CpuDevice device(run_, 0, fsdp2_streams(), 1, no_kernels);
  const CostKey key = key_of(Operator::matmul);
  EXPECT_THROW(device.launch(Stream::compute, 0, {key, {}, {}}), std::logic_error);
}

TEST_F(CpuDeviceTest, StreamsCopyAndFillInOrderAndWaitForEvents) {
  CpuDevice device(run_, 0, fsdp2_streams());
  std::vector<std::byte> from(1000, std::byte{1}), to(1000), late(1000);
  for (int step = 0; step < 50; ++step) {
    device.begin(program_);
    device.fill(Stream::compute, 0, from, static_cast<std::byte>(step));
    device.copy(Stream::compute, 1, to, from.data());
    device.record(Stream::compute, 2, unreported(2));
    device.wait(Stream::device_to_host, 2, unreported(3));
    device.copy(Stream::device_to_host, 4, late, to.data());
    device.record(Stream::device_to_host, 0, unreported(5));
    device.host_wait(0);
    EXPECT_EQ(late, std::vector<std::byte>(1000, static_cast<std::byte>(step)));
  }
  device.synchronize();
  while (!device.has_finished(5)) std::this_thread::yield();
}

// An event of one program is not taken for the one of the same number in the next, which another
// stream records.
TEST_F(CpuDeviceTest, AnotherProgramBeginsWhenTheStreamsAreIdle) {
  CpuDevice device(run_, 0, fsdp2_streams());
  Program next;
  next.events = 20;
  std::atomic<bool> done{false};
  device.begin(program_);
  device.call(Stream::compute, 0, [this, &done] {
    run_.sleep_for(Nanoseconds{2'000'000});
    done = true;
  });
  device.begin(next);
  EXPECT_TRUE(done);
  device.record(Stream::all_gather, 19, unreported(0));
  device.host_wait(19);
}

}  // namespace
}  // namespace foreshard::executor
