// What the interpreter makes of single instructions, in programs made by hand.
#include "executor/run/interpreter.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "executor/cpu/cpu_device.hpp"
#include "executor/device/tags.hpp"
#include "tests/executor/cpu/delaying_device.hpp"
#include "tests/executor/cpu/immediate_device.hpp"

namespace foreshard::executor {
namespace {

// Fills states with what distinguishes them.
class Restorer final : public HostWork {
 public:
  void initialize_shard(const ParameterShard&, DType, std::span<std::byte>, WorkerPool&) override {}
  void load_batch(std::int64_t, int, std::span<std::int32_t>, std::span<std::int32_t>) override {}
  void restore_state(const ParameterShard& shard, ValueRole role, DType,
                     std::span<std::byte> bytes) override {
    std::ranges::fill(bytes, std::byte(10 * static_cast<int>(role) + shard.parameter));
  }
  void take_gradient(const UnitLayout&, DType, std::span<const std::byte>) override {}
};

class HandMadeProgram : public testing::Test {
 protected:
  HandMadeProgram() {
    Buffer state;
    state.bytes = 64;
    state.persistent = true;
    state.category = Category::optimizer_states;
    program_.programs.resize(1);
    program_.buffers = {state};
    program_.own_names = {""};
    program_.place.groups.resize(1);
  }

  Instruction& add(Kind kind, std::int32_t target) {
    Instruction& i = program_.programs[0].instructions.emplace_back();
    i.kind = kind;
    i.target = target;
    return i;
  }

  RankProgram program_;
  RunControl run_{1};
  OutOfMemoryAgreement agreement_{1};
  Restorer host_;
  CpuDevice device_{run_, 0, fsdp2_streams()};
  const RankParts parts_{program_, device_, run_, agreement_, host_};
};

TEST_F(HandMadeProgram, ADeferredFreeIsRefusedNotIgnored) {
  add(Kind::alloc, 0);
  add(Kind::record_stream, 0);
  Interpreter interpreter(parts_, {});
  EXPECT_THROW(interpreter.run(0, 0, {}), std::logic_error);
}

// Two parameters: their exp_avg, then their exp_avg_sq, through the host's memory to the device's.
TEST_F(HandMadeProgram, StatesAreRestoredInTheOrderOfTheUpdate) {
  program_.units = {UnitLayout{}};
  program_.units[0].parameters = {ParameterShard{.parameter = 3}, ParameterShard{.parameter = 4}};
  Buffer host = program_.buffers[0];
  host.on_host = true;
  program_.buffers = {host, host, host, host, program_.buffers[0]};
  program_.cost_keys = {
      {Operator::restore_states, DType::fp32, DType::fp32, DType::fp32, {64}},
      {Operator::copy_host_to_device, DType::fp32, DType::fp32, DType::fp32, {64}}};
  program_.programs[0].operands = {0, 1, 2, 3, 3, 4};
  for (BufferId b = 0; b < 5; ++b) add(Kind::alloc, b);
  Instruction& restore = add(Kind::host_compute, kNone);
  restore.cost_key = 0;
  restore.unit = 0;
  restore.writes = 4;
  Instruction& copy = add(Kind::copy, kNone);
  copy.cost_key = 1;
  copy.operands = 4;
  copy.reads = copy.writes = 1;
  Interpreter interpreter(parts_, {});
  interpreter.run(0, 0, {});
  device_.synchronize();
  const int avg = static_cast<int>(ValueRole::exp_avg),
            sq = static_cast<int>(ValueRole::exp_avg_sq);
  const int expected[] = {10 * avg + 3, 10 * avg + 4, 10 * sq + 3, 10 * sq + 4, 10 * sq + 4};
  for (BufferId b = 0; b < 5; ++b) {
    EXPECT_EQ(interpreter.memory().bytes(b)[5], std::byte(expected[b])) << "buffer " << b;
  }
}

// Another rank ran out of memory: its work before that place may need this one's.
TEST_F(HandMadeProgram, WhatIsLeftForAGraphIsIssuedWhereMemoryRanOut) {
  class Counting final : public ImmediateDevice {
   public:
    using ImmediateDevice::ImmediateDevice;
    void call(Stream stream, Tag tag, const StreamTask& task) override {
      last = tag;
      ImmediateDevice::call(stream, tag, task);
    }
    Tag last = 0;
  };
  program_.cost_keys = {{Operator::fill_zero, DType::fp32, DType::fp32, DType::fp32, {64}}};
  program_.programs[0].operands = {0};
  add(Kind::alloc, 0);
  for (int i = 1; i <= 4; ++i) {
    Instruction& fill = add(Kind::launch, kNone);
    fill.cost_key = 0;
    fill.writes = 1;
  }
  add(Kind::free, 0);
  Counting device(run_, 0, fsdp2_streams());
  OutOfMemoryAgreement agreement(2);
  const RankParts parts{program_, device, run_, agreement, host_};
  Interpreter interpreter(parts, {.uses_graphs = true});
  interpreter.run(1, 0, {});
  EXPECT_EQ(device.last, tag_of(1, 4));
  agreement.report({.step = 2, .instruction = 3, .rank = 1, .request = {}});
  EXPECT_THROW(interpreter.run(2, 0, {}), StoppedOutOfMemory);
  EXPECT_EQ(device.last, tag_of(2, 3));
  EXPECT_EQ(interpreter.graphs().report().reason, "memory ran out");
}

// Named ranges are told to the device, for tools that show them.
TEST_F(HandMadeProgram, RangesAreToldToTheDevice) {
  class Ranges final : public ImmediateDevice {
   public:
    using ImmediateDevice::ImmediateDevice;
    void range_begin(std::string_view name, Tag /*tag*/) override {
      told += "(" + std::string(name);
    }
    void range_end() override { told += ")"; }
    std::string told;
  };
  program_.own_names = {"step", "forward"};
  add(Kind::range_begin, 0);
  add(Kind::range_begin, 1);
  add(Kind::range_end, 1);
  add(Kind::range_end, 0);
  Ranges device(run_, 0, fsdp2_streams());
  const RankParts parts{program_, device, run_, agreement_, host_};
  Interpreter(parts, {}).run(0, 0, {});
  EXPECT_EQ(device.told, "(step(forward))");
}

// A buffer of ones, zeroed on one stream and copied on another.
class TwoStreams : public HandMadeProgram {
 protected:
  TwoStreams() {
    Buffer buffer;
    buffer.bytes = 4096;
    program_.buffers = {buffer, buffer};
    program_.cost_keys = {
        {Operator::fill_zero, DType::fp32, DType::fp32, DType::fp32, {4096}},
        {Operator::copy_device_to_device, DType::fp32, DType::fp32, DType::fp32, {4096}}};
    program_.programs[0].operands = {0, 0, 1};
    program_.programs[0].events = 2;
    add(Kind::alloc, 0);
    add(Kind::alloc, 1);
  }
  void add_zeroing() {
    Instruction& zero = add(Kind::launch, kNone);
    zero.cost_key = 0;
    zero.writes = 1;
  }
  void add_copying() {
    Instruction& copy = add(Kind::copy, kNone);
    copy.stream = Stream::device_to_host;
    copy.cost_key = 1;
    copy.operands = 1;
    copy.reads = copy.writes = 1;
  }
  // The copy's last byte, in a run that begins with memory full of ones.
  std::byte result_on(Device& device) {
    Interpreter interpreter({program_, device, run_, agreement_, host_}, {.poisons = true});
    interpreter.run(0, 0, {});
    device.synchronize();
    return interpreter.memory().bytes(1).back();
  }
};

// What the property tests rely on: a delaying device shows that an event is missing, and shows nothing
// where it is there.
TEST_F(TwoStreams, ADelayingDeviceShowsThatAnEventIsMissing) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the race that it makes on purpose is what the sanitizer finds";
#endif
  add_zeroing();
  const auto before = program_.programs[0].instructions.size();
  add_copying();
  const auto wrong_results = [&] {
    int wrong = 0;
    for (unsigned seed = 0; seed < 300 && wrong == 0; ++seed) {
      DelayingDevice device(run_, 0, fsdp2_streams(), 1, seed);
      wrong += result_on(device) == std::byte{0} ? 0 : 1;
    }
    return wrong;
  };
  EXPECT_GT(wrong_results(), 0);
  program_.programs[0].instructions.resize(before);
  add(Kind::record_event, 1);
  add(Kind::wait_event, 1).stream = Stream::device_to_host;
  add_copying();
  EXPECT_EQ(wrong_results(), 0);
}

TEST_F(TwoStreams, AnImmediateDeviceKeepsTheOrderOfTheProgram) {
  add_zeroing();
  add_copying();
  ImmediateDevice device(run_, 0, fsdp2_streams());
  EXPECT_EQ(result_on(device), std::byte{0});
  add(Kind::wait_event, 0);
  EXPECT_THROW(result_on(device), std::logic_error);
}

}  // namespace
}  // namespace foreshard::executor
